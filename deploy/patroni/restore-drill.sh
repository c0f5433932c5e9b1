#!/bin/sh
# Restores the archive to a point in time in a folder of its own, beside the running cluster, and says how long that took
# and what is there: as the account postgres, on a database node or a machine of its own.
#
#   restore-drill.sh [TIME]      such as '2026-12-01 09:30:00+00'; without: a minute ago
#
# FOLDER   where to (/var/lib/postgresql/drill); it must not exist
# RESTORE  the command that restores to $FOLDER/data and has the server stop replaying at $TARGET (by pgBackRest)
# KEEP     1: the server runs on, on the socket in $FOLDER, for a look; else it is stopped and the folder removed
set -eu

TARGET=${1:-$(date -u -d '1 minute ago' '+%F %T+00')}
FOLDER=${FOLDER:-/var/lib/postgresql/drill}
RESTORE=${RESTORE:-'pgbackrest --stanza=psi --pg1-path="$FOLDER/data" --type=time --target="$TARGET" --target-action=promote restore'}
export TARGET FOLDER PGHOST="$FOLDER" PGPORT=5432 PGUSER="${PGUSER:-postgres}" PGDATABASE="${PGDATABASE:-psi}"

began=$(date +%s)
since() { echo "$(($(date +%s) - began)) s"; }

umask 077
mkdir "$FOLDER"
sh -c "$RESTORE"
echo "Files restored after $(since)."

# Reached by this account alone. It must not archive its own WAL as if it were the cluster.
echo 'local all all trust' > "$FOLDER/pg_hba.conf"
options="-c listen_addresses='' -c unix_socket_directories=$FOLDER -c hba_file=$FOLDER/pg_hba.conf -p $PGPORT"
options="$options -c archive_mode=off -c synchronous_standby_names='' -c ssl=off"
# No lower than those of the server that was backed up, which may have had them on its command line.
of_backup() { pg_controldata "$FOLDER/data" | sed -n "s/^$1 setting: *//p"; }
options="$options -c max_connections=$(of_backup max_connections) -c max_wal_senders=$(of_backup max_wal_senders)"
options="$options -c max_worker_processes=$(of_backup max_worker_processes)"
options="$options -c max_prepared_transactions=$(of_backup max_prepared_xacts)"
options="$options -c max_locks_per_transaction=$(of_backup max_locks_per_xact)"
fail() {
  tail -n 20 "$FOLDER/log" >&2
  echo "Not restored. Where recovery ended before the target: the archive has no later commit yet." >&2
  exit 1
}
pg_ctl --pgdata "$FOLDER/data" --log "$FOLDER/log" --wait --timeout 86400 --options "$options" start > /dev/null || fail

query() { psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 --command "$1"; }
# Without set -e: a server that ends before the target is told by its log.
until [ "$(query 'SELECT pg_is_in_recovery()' 2> /dev/null || true)" = f ]; do
  pg_ctl --pgdata "$FOLDER/data" status > /dev/null || fail
  sleep 1
done
echo "Restored to $TARGET after $(since)."

query "SELECT 'Last commit: ' || coalesce(to_char(pg_last_xact_replay_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS UTC'), 'none since the backup')
 UNION ALL SELECT format('users: %s', count(*)) FROM users_user
 UNION ALL SELECT format('decisions: %s', count(*)) FROM users_statuschange
 UNION ALL SELECT format('conversions: %s', count(*)) FROM transactions_conversion
 UNION ALL SELECT format('documents: %s', count(*)) FROM transactions_document"

if [ "${KEEP:-}" = 1 ]; then
  echo "Look at it: psql --host $FOLDER; end it: pg_ctl --pgdata $FOLDER/data stop, and remove $FOLDER."
else
  pg_ctl --pgdata "$FOLDER/data" --mode fast --wait stop > /dev/null
  rm -r "$FOLDER"
fi
