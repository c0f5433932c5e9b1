<?php
// Compiles the regular expressions that it reads, each ended by a NUL. A client of PHP puts them between slashes.
set_error_handler(function ($level, $message) { throw new ErrorException($message); });
foreach (explode("\0", rtrim(stream_get_contents(STDIN), "\0")) as $pattern) {
    preg_match('/' . str_replace('/', '\/', $pattern) . '/', '');
}
