package handlers

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/etag"
	"ledge/handlers/openapi"
)

// needsLogin is the line and its item by which a document says that its operations need a bearer token.
const needsLogin = "\nsecurity:\n  - bearerAuth: []\n"

// RouteDocument adds the OpenAPI document of the API and a page that shows it. In open mode no operation needs a token, so that clients that
// are generated from the document do not ask for one.
func (a *API) RouteDocument(document []byte) {
	if a.Access == nil || a.Access.Open {
		document = bytes.Replace(document, []byte(needsLogin), []byte("\n"), 1)
	}
	a.Serve(markShared([]Route{
		{Method: "GET", Path: "/openapi.yaml", Right: AnyRole, Handle: func(c *gin.Context) {
			replyFile(c, "application/yaml", document) // RFC 9512
		}},
		{Method: "GET", Path: "/docs", Right: AnyRole, Handle: func(c *gin.Context) {
			c.Header("Content-Security-Policy", openapi.Policy)
			replyFile(c, "text/html; charset=utf-8", openapi.Page())
		}},
		{Method: "GET", Path: "/docs/:file", Right: AnyRole, Handle: func(c *gin.Context) {
			data, mediaType, ok := openapi.File(c.Param("file"))
			if !ok {
				a.Fail(c, domain.Errorf(domain.NotFound, "file %.80q is none of the page's; start at /docs", c.Param("file")))
				return
			}
			c.Header("Content-Security-Policy", openapi.Policy)
			replyFile(c, mediaType, data)
		}},
	}))
}

// replyFile answers with what changes only with the program: a client may keep it, and asks whether it is still the same.
func replyFile(c *gin.Context, mediaType string, data []byte) {
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(data))
	h := c.Writer.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	if etag.Knows(c.GetHeader("If-None-Match"), tag) {
		c.Status(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return
	}
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	c.Status(http.StatusOK)
	_, _ = c.Writer.Write(data) // it fails if the client is gone, and then no answer can reach it
}
