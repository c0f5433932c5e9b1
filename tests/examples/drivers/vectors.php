<?php

// Signs what it reads with psi.php. How drivers talk is said in tests/examples/languages.py.

declare(strict_types=1);

require __DIR__ . '/psi.php';

$fields = array_slice(explode("\0", stream_get_contents(STDIN)), 0, -1);
$secret = array_shift($fields);
foreach (array_chunk($fields, 5) as $request) {
    try {
        $canonical = Psi\canonical_request(...$request);
        echo $canonical, "\0", Psi\sign($secret, $canonical), "\0";
    } catch (UnexpectedValueException) {
        echo "refused\0\0";
    }
}
