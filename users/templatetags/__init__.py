"""Tags and filters of the back office's templates."""
