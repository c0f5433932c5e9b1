<?php
// Reads {"schema", "value"} in lines; writes each value as the generated client does that has read it.
error_reporting(E_ALL & ~E_DEPRECATED);
set_error_handler(function ($level, $message) { throw new ErrorException($message); }, E_ALL & ~E_DEPRECATED);

use OpenAPI\Client\ObjectSerializer;

spl_autoload_register(function ($name) {
    $path = 'lib/' . str_replace('\\', '/', substr($name, strlen('OpenAPI\\Client\\'))) . '.php';
    if (str_starts_with($name, 'OpenAPI\\Client\\')) {
        require_once $path;
    }
});
foreach (glob('lib/{,*/}*.php', GLOB_BRACE) as $path) {
    require_once $path;
}
ObjectSerializer::setDateTimeFormat('Y-m-d\TH:i:s.u\Z');
while ($line = fgets(STDIN)) {
    $given = json_decode($line);
    try {
        $model = ObjectSerializer::deserialize($given->value, "\\OpenAPI\\Client\\Model\\$given->schema");
        $invalid = $model->listInvalidProperties();
        $written = $invalid ? $invalid[0] : ObjectSerializer::sanitizeForSerialization($model);
    } catch (Throwable $error) {
        $written = $error->getMessage();
    }
    echo json_encode($written), "\n";
}
