// validatorUrl null: the viewer would ask a public server to judge the document.
SwaggerUIBundle({ url: "openapi.yaml", dom_id: "#viewer", deepLinking: true, validatorUrl: null });
