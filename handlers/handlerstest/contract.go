package handlerstest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Contract is a service's OpenAPI document, to which its tests hold what it is asked and what it answers, and an account of what
// of the document they have driven.
type Contract struct {
	doc    *openapi3.T
	router routers.Router

	mu     sync.Mutex
	driven map[string]bool // by "GET /device/all 200"
}

// LoadContract reads the OpenAPI document of a service. It panics if the document is wrong: then no test of the service can run.
func LoadContract(text []byte) *Contract {
	doc, err := parseDocument(text)
	if err != nil {
		panic(err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		panic(err)
	}
	return &Contract{doc: doc, router: router, driven: map[string]bool{}}
}

// CheckText holds that a text is an OpenAPI document, and that its examples are as it says.
func CheckText(text []byte) error {
	_, err := parseDocument(text)
	return err
}

func parseDocument(text []byte) (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background(), openapi3.EnableExamplesValidation())
}

// Run runs the tests of a package. Where all of them ran and succeeded, it fails for what of the document none has driven.
func (c *Contract) Run(m *testing.M) int {
	code := m.Run()
	if code != 0 || isPart() {
		return code
	}
	for _, key := range c.undriven() {
		fmt.Fprintf(os.Stderr, "openapi.yaml: no test drives %s\n", key)
		code = 1
	}
	return code
}

// isPart reports whether flags leave out tests.
func isPart() bool {
	return slices.ContainsFunc([]string{"run", "skip", "list", "fuzz"}, func(name string) bool {
		return flag.Lookup("test."+name).Value.String() != ""
	})
}

func (c *Contract) undriven() []string {
	var keys []string
	for _, o := range c.operations() {
		for _, status := range o.statuses() {
			if key := o.key(status); !c.driven[key] && !ofAll(o, status) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// ofAll reports whether one test drives an answer for all services: that of every route and role in package handlers, or that of encodings
// in handlers/metadata.
func ofAll(o operation, status int) bool {
	if status == http.StatusUnsupportedMediaType && strings.HasSuffix(o.Responses.Status(status).Ref, "/UnknownEncoding") {
		return true
	}
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusTooManyRequests || o.OperationID == "login"
}

func (c *Contract) note(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.driven[key] = true
}

// operation is one of the document's.
type operation struct {
	method, path string
	item         *openapi3.PathItem
	*openapi3.Operation
}

// operations are in the order of their paths.
func (c *Contract) operations() []operation {
	var all []operation
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			all = append(all, operation{method, path, item, op})
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return all
}

func (o operation) key(status int) string {
	return o.method + " " + o.path + " " + strconv.Itoa(status)
}

// statuses are those that the document has for o.
func (o operation) statuses() []int {
	var all []int
	for text := range o.Responses.Map() {
		n, err := strconv.Atoi(text)
		if err != nil {
			panic(fmt.Sprintf("%s %s: the status %q is not a number", o.method, o.path, text))
		}
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// find returns the operation that a request is for and the parameters in its path; ok is false where it is for none.
func (c *Contract) find(r *http.Request) (o operation, params map[string]string, ok bool) {
	if before, tile, ok := strings.Cut(r.URL.Path, "/ledger/tile/"); ok { // one parameter, which no document can say
		r = r.Clone(r.Context())
		r.URL.RawPath = before + "/ledger/tile/" + url.PathEscape(tile)
	}
	route, params, err := c.router.FindRoute(r)
	if errors.Is(err, routers.ErrPathNotFound) || errors.Is(err, routers.ErrMethodNotAllowed) {
		return o, nil, false
	}
	if err != nil {
		panic(err)
	}
	for key, value := range params {
		slash := strings.Contains(value, "/") || strings.Contains(strings.ToUpper(value), "%2F")
		if slash && !slices.Contains([]string{"manufacturer", "model", "tile"}, key) { // names and ids
			return o, nil, false
		}
	}
	return operation{route.Method, route.Path, route.PathItem, route.Operation}, params, true
}
