#!/bin/sh
# At the database's first start: the role that owns database and schema (docs/operations.md, "First deployment").
set -eu
psql --set ON_ERROR_STOP=1 --set password="$OWNER_PASSWORD" --username "$POSTGRES_USER" <<'SQL'
CREATE ROLE psi_owner LOGIN CREATEROLE PASSWORD :'password';
CREATE DATABASE psi OWNER psi_owner ENCODING 'UTF8' TEMPLATE template0;
SQL
