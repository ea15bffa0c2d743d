// validatorUrl null: the viewer would ask a public server to judge the document.
var options = { url: "openapi.yaml", dom_id: "#viewer", deepLinking: true, validatorUrl: null };
// The console shows the page too. It does not have the paths of the service, so there the page sends no requests.
if (location.pathname.startsWith("/system/api/")) { options.supportedSubmitMethods = []; }
SwaggerUIBundle(options);
