"""The signature doctor: why a request was refused as `unauthorized`, told from the request alone, without a secret."""
