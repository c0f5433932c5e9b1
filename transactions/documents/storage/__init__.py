"""Where the files of documents are kept. What fails is an OSError, and a file that is not there FileNotFoundError."""
