// Imports the description as Postman does, with the settings and the scripts of the page about it, and runs the whole
// collection twice. Writes each request and its response's status as JSON.
const fs = require("node:fs");
const converter = require("openapi-to-postmanv2");
const newman = require("newman");

const {description, sign, remember, variables} = JSON.parse(fs.readFileSync(0, "utf8"));
const settings = {parametersResolution: "Example", folderStrategy: "Tags", enableOptionalParameters: false};

converter.convertV2({type: "json", data: description}, settings, (error, converted) => {
  if (error || !converted.result) throw error || new Error(converted.reason);
  const collection = converted.output[0].data;
  collection.event = [["prerequest", sign], ["test", remember]].map(([listen, exec]) => ({listen, script: {exec}}));
  const envVar = Object.entries(variables).map(([key, value]) => ({key, value}));
  newman.run({collection, envVar, iterationCount: 2}, (failure, summary) => {
    if (failure) throw failure;
    const {executions, failures} = summary.run;
    process.stdout.write(JSON.stringify({
      failures: failures.map(({error: reason, source}) => `${source && source.name}: ${reason}`),
      responses: executions.map(({item, response}) => ({name: item.name, status: response.code, body: response.text()})),
    }));
  });
});
