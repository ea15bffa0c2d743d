package handlerstest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Exchange is a request and its answer.
type Exchange struct {
	Request *http.Request
	Sent    []byte // the request's body
	Status  int
	Header  http.Header
	Got     []byte
	// Loose says that the request is answered with success although the document does not allow it.
	Loose bool
}

// Check holds an exchange to the document. The answer must be as the document has it, whatever the request; a request
// that is answered with success must be too, unless it is loose.
func (c *Contract) Check(x Exchange) error {
	o, params, ok := c.find(x.Request)
	if !ok {
		return x.checkUnknown()
	}
	c.note(o.key(x.Status))
	err := x.checkAnswer(o)
	if x.Status < 300 {
		wrong := x.checkRequest(c.doc, o, params)
		switch {
		case !x.Loose:
			err = errors.Join(err, wrong)
		case wrong == nil:
			err = errors.Join(err, errors.New("the document allows the request: it is not loose"))
		}
	}
	if err != nil {
		return fmt.Errorf("openapi.yaml: %s: %w", o.key(x.Status), err)
	}
	return nil
}

// checkUnknown holds an answer to what the documents say of all paths that they do not have.
func (x Exchange) checkUnknown() error {
	ok := x.Status == http.StatusNotFound && bytes.HasPrefix(x.Got, []byte("404 page not found\n")) ||
		x.Status == http.StatusMethodNotAllowed && x.Header.Get("Allow") != "" ||
		x.Status == http.StatusMovedPermanently && len(x.Got) == 0 ||
		x.Status == http.StatusUnauthorized && x.Header.Get("WWW-Authenticate") != "" ||
		x.Status == http.StatusForbidden && x.Request.Header.Get("Origin") != ""
	if x.Request.Method == http.MethodHead { // net/http leaves the body out
		ok = ok || x.Status == http.StatusNotFound
	}
	if !ok {
		return fmt.Errorf("openapi.yaml: %s %s is not in it, and answered %d %s", x.Request.Method, x.Request.URL.Path, x.Status, x.Got)
	}
	return nil
}

// common are the headers that HTTP itself brings along, and those that all answers of the program have.
var common = []string{
	"Accept", "Accept-Encoding", "Accept-Language", "Allow", "Connection", "Content-Length", "Content-Type", "Date", "Expect",
	"Origin", "Authorization", "Transfer-Encoding", "User-Agent", "X-Content-Type-Options", "Cross-Origin-Resource-Policy", "Content-Security-Policy",
}

func (x Exchange) checkAnswer(o operation) error {
	ref := o.Responses.Status(x.Status)
	if ref == nil {
		return fmt.Errorf("the status is not documented; the answer is %s", x.Got)
	}
	err := x.checkAnswerHeader(ref.Value)
	if o.method == http.MethodHead { // net/http leaves the body out
		return err
	}
	return errors.Join(err, x.checkAnswerBody(ref.Value))
}

func (x Exchange) checkAnswerHeader(r *openapi3.Response) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(x.Header)) {
		if !slices.Contains(common, name) && !has(r.Headers, name) {
			errs = append(errs, fmt.Errorf("the answer's header %s is not documented", name))
		}
	}
	for name, h := range r.Headers {
		value := x.Header.Get(name)
		if value == "" {
			if h.Value.Required {
				errs = append(errs, fmt.Errorf("the answer has no header %s", name))
			}
		} else if err := h.Value.Schema.Value.VisitJSON(value); err != nil {
			errs = append(errs, fmt.Errorf("header %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func has(headers openapi3.Headers, name string) bool {
	for h := range headers {
		if http.CanonicalHeaderKey(h) == name {
			return true
		}
	}
	return false
}

func (x Exchange) checkAnswerBody(r *openapi3.Response) error {
	if len(r.Content) == 0 {
		if len(x.Got) > 0 {
			return fmt.Errorf("a body is not documented; the answer is %s", x.Got)
		}
		return nil
	}
	kind := x.Header.Get("Content-Type")
	media := cmp.Or(r.Content[kind], r.Content["*/*"])
	if media == nil {
		return fmt.Errorf("the answer's Content-Type %q is not documented", kind)
	}
	var value any = string(x.Got)
	switch isJSON := kind == "application/json" && r.Content[kind] != nil; {
	case isJSON && len(x.Got) == 0:
		value = nil // no body stands for null
	case isJSON:
		if err := json.Unmarshal(x.Got, &value); err != nil {
			return fmt.Errorf("the answer is no JSON: %w", err)
		}
		if m, ok := value.(map[string]any); ok && m["statusCode"] != nil && m["statusCode"] != float64(x.Status) {
			return fmt.Errorf("the answer's statusCode is %v", m["statusCode"])
		}
	}
	if err := media.Schema.Value.VisitJSON(value, openapi3.VisitAsResponse(), openapi3.MultiErrors(), openapi3.SetSchemaErrorMessageCustomizer(brief)); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}

func (x Exchange) checkRequest(doc *openapi3.T, o operation, params map[string]string) error {
	in := &openapi3filter.RequestValidationInput{
		Request: x.Request, PathParams: params,
		Route:   &routers.Route{Spec: doc, Path: o.path, PathItem: o.item, Method: o.method, Operation: o.Operation},
		Options: &openapi3filter.Options{ExcludeRequestBody: true, MultiError: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true},
	}
	errs := []error{openapi3filter.ValidateRequest(context.Background(), in), x.checkSent(o)}
	for key := range x.Request.URL.Query() {
		if !o.takes(openapi3.ParameterInQuery, key) {
			errs = append(errs, fmt.Errorf("the query's %s is not documented", key))
		}
	}
	for key := range x.Request.Header {
		if !slices.Contains(common, key) && !o.takes(openapi3.ParameterInHeader, key) {
			errs = append(errs, fmt.Errorf("the request's header %s is not documented", key))
		}
	}
	return errors.Join(errs...)
}

// parameters are those of the operation and of its path.
func (o operation) parameters() openapi3.Parameters {
	return append(slices.Clone(o.item.Parameters), o.Parameters...)
}

func (o operation) takes(in, name string) bool {
	return slices.ContainsFunc(o.parameters(), func(p *openapi3.ParameterRef) bool {
		return p.Value.In == in && (p.Value.Name == name || in == openapi3.ParameterInHeader && http.CanonicalHeaderKey(p.Value.Name) == name)
	})
}

// checkSent holds the request's body to the document: JSON whatever its Content-Type says, but for CBOR where that is
// documented; of anything else only that its media type is.
func (x Exchange) checkSent(o operation) error {
	switch {
	case o.RequestBody == nil && len(x.Sent) > 0:
		return errors.New("the request's body is not documented")
	case o.RequestBody == nil:
		return nil
	case len(x.Sent) == 0 && !o.RequestBody.Value.Required:
		return nil
	case len(x.Sent) == 0:
		return errors.New("the request has no body")
	}
	content, kind := o.RequestBody.Value.Content, x.Request.Header.Get("Content-Type")
	media, ok := content["application/json"]
	if cbor, _, _ := strings.Cut(kind, ";"); ok && cbor == "application/cbor" && content[cbor] != nil {
		return nil
	}
	if !ok {
		if content.Get(kind) == nil {
			return fmt.Errorf("the request's Content-Type %q is not documented", kind)
		}
		return nil
	}
	var value any
	if err := json.NewDecoder(bytes.NewReader(x.Sent)).Decode(&value); err != nil {
		return fmt.Errorf("the request is no JSON: %w", err)
	}
	if err := media.Schema.Value.VisitJSON(value, openapi3.VisitAsRequest(), openapi3.MultiErrors(), openapi3.SetSchemaErrorMessageCustomizer(brief)); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	return nil
}

// brief leaves the schema out of what is wrong.
func brief(err *openapi3.SchemaError) string {
	return fmt.Sprintf("/%s: %s", strings.Join(err.JSONPointer(), "/"), err.Reason)
}
