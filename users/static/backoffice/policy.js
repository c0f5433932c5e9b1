// What the pages' Content-Security-Policy forbids and htmx would otherwise try: a style of its own, and eval.
window.htmx.config.includeIndicatorStyles = false;
window.htmx.config.allowEval = false;
