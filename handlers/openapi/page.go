// Package openapi has the page that shows the OpenAPI document of a service. The folder merge makes the documents.
//
// The page is Swagger UI with all its files inside the program: it asks no other host for anything.
package openapi

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"

	"github.com/swaggest/swgui/v5/static"
)

//go:embed page.html
var page []byte

//go:embed page.js
var script []byte

// Policy is the Content-Security-Policy of the page and its files: nothing but what this service serves, and the icons
// that the viewer's style sheet holds itself.
const Policy = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Page is the page itself, as HTML. It expects its files below docs/ and the document beside it, as openapi.yaml.
func Page() []byte { return page }

// fileTypes are the media types of the page's files.
var fileTypes = map[string]string{
	"page.js":              "text/javascript; charset=utf-8",
	"swagger-ui-bundle.js": "text/javascript; charset=utf-8",
	"swagger-ui.css":       "text/css; charset=utf-8",
	"favicon-32x32.png":    "image/png",
}

// File returns one of the page's files; ok says whether there is one of that name.
func File(name string) (data []byte, mediaType string, ok bool) {
	mediaType, ok = fileTypes[name]
	if !ok {
		return nil, "", false
	}
	if name == "page.js" {
		return script, mediaType, true
	}
	if data, err := static.FS.ReadFile(name); err == nil {
		return data, mediaType, true
	}
	packed, err := static.FS.ReadFile(name + ".gz")
	if err != nil {
		return nil, "", false
	}
	data, err = unpack(packed)
	return data, mediaType, err == nil
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
