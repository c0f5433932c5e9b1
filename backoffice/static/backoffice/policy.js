// The Content-Security-Policy forbids htmx's own style and eval.
window.htmx.config.includeIndicatorStyles = false;
window.htmx.config.allowEval = false;
