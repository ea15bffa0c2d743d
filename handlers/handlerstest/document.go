package handlerstest

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"ledge/handlers"
)

// CheckDocument holds the document to what is served: the routes, and the fields that are read of each JSON request, both
// ways; and to its own rules: every operation has a summary, every answer the correlation id, and no object more fields
// than it names. Shapes are zero values of the types that a
// request's elements are decoded into, by the name of their schema.
func (c *Contract) CheckDocument(t *testing.T, routes []handlers.Route, shapes map[string]any) {
	t.Helper()
	for _, m := range c.missing(routes) {
		t.Error(m)
	}
	shapes["Login"] = handlers.LoginRequest{}
	named := map[string]bool{}
	for _, o := range c.operations() {
		o.checkRules(t)
		if element := o.element(); element != nil {
			name := element.Ref[strings.LastIndex(element.Ref, "/")+1:]
			named[name] = true
			shape, ok := shapes[name]
			if !ok {
				t.Errorf("%s: there is no shape for %q", o.OperationID, name)
				continue
			}
			checkFields(t, name, element.Value, reflect.TypeOf(shape))
		}
	}
	for name := range shapes {
		if !named[name] {
			t.Errorf("%s is in no request", name)
		}
	}
}

// missing returns what the document has and the routes have not, and the other way round. Parameters may be called
// differently.
func (c *Contract) missing(routes []handlers.Route) []string {
	var documented, served, missing []string
	for _, o := range c.operations() {
		documented = append(documented, o.method+" "+unnamed(c.doc.Servers[0].URL+o.path))
	}
	for _, r := range routes {
		served = append(served, unnamed(r.String()))
	}
	for _, d := range documented {
		if !slices.Contains(served, d) {
			missing = append(missing, d+" is in the document and not served")
		}
	}
	for _, s := range served {
		if !slices.Contains(documented, s) {
			missing = append(missing, s+" is served and not in the document")
		}
	}
	return missing
}

// unnamed leaves out the names of the parameters in a path: :name, *name and {name} become {}.
func unnamed(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, ":") || strings.HasPrefix(s, "*") || strings.HasPrefix(s, "{") {
			segments[i] = "{}"
		}
	}
	return strings.Join(segments, "/")
}

func (o operation) checkRules(t *testing.T) {
	t.Helper()
	if o.Summary == "" || o.OperationID == "" || len(o.Tags) != 1 {
		t.Errorf("%s %s: summary %q, operationId %q, tags %v", o.method, o.path, o.Summary, o.OperationID, o.Tags)
	}
	if !o.takes(openapi3.ParameterInHeader, "X-Correlation-Id") {
		t.Errorf("%s: the parameter X-Correlation-ID is missing", o.OperationID)
	}
	for status, r := range o.Responses.Map() {
		if h := r.Value.Headers["X-Correlation-ID"]; h == nil || !h.Value.Required {
			t.Errorf("%s %s: the header X-Correlation-ID is missing", o.OperationID, status)
		}
		for kind, media := range r.Value.Content {
			checkClosed(t, fmt.Sprint(o.OperationID, " ", status, " ", kind), media.Schema.Value)
		}
	}
	if o.RequestBody == nil {
		return
	}
	if !o.RequestBody.Value.Required && o.method != http.MethodGet {
		t.Errorf("%s: the body is not required", o.OperationID)
	}
	examples := 0
	for kind, media := range o.RequestBody.Value.Content {
		if media.Example != nil {
			examples++
		}
		if kind == "application/json" {
			checkClosed(t, o.OperationID, media.Schema.Value)
		}
	}
	if examples != 1 {
		t.Errorf("%s: the body has %d examples, want one", o.OperationID, examples)
	}
}

// checkClosed holds that an object that names its fields has no others. attributes and location name none.
func checkClosed(t *testing.T, path string, s *openapi3.Schema) {
	t.Helper()
	if more := s.AdditionalProperties; len(s.Properties) > 0 && (more.Has == nil || *more.Has) {
		t.Errorf("%s: additionalProperties is not false", path)
	}
	for name, p := range s.Properties {
		checkClosed(t, path+"."+name, p.Value)
	}
	if s.Items != nil {
		checkClosed(t, path+"[]", s.Items.Value)
	}
	if more := s.AdditionalProperties.Schema; more != nil {
		checkClosed(t, path+"{}", more.Value)
	}
}

// element is the schema of the elements of a JSON request, or of the request where that is an object; nil where there is
// none.
func (o operation) element() *openapi3.SchemaRef {
	if o.RequestBody == nil {
		return nil
	}
	if media := o.RequestBody.Value.Content["application/json"]; media != nil {
		if media.Schema.Value.Items == nil && media.Schema.Value.Type.Is(openapi3.TypeObject) {
			return media.Schema
		}
		return media.Schema.Value.Items
	}
	return nil
}

// checkFields holds that s has the fields that shape is decoded from, and no others.
func checkFields(t *testing.T, path string, s *openapi3.Schema, shape reflect.Type) {
	t.Helper()
	switch shape.Kind() {
	case reflect.Pointer:
		checkFields(t, path, s, shape.Elem())
	case reflect.Struct:
		fields := fieldsOf(shape)
		documented, decoded := slices.Sorted(maps.Keys(s.Properties)), slices.Sorted(maps.Keys(fields))
		if !slices.Equal(documented, decoded) {
			t.Errorf("%s: the document has %v, decoded are %v", path, documented, decoded)
			return
		}
		for name, field := range fields {
			checkFields(t, path+"."+name, s.Properties[name].Value, field)
		}
	case reflect.Slice:
		if s.Items != nil { // json.RawMessage is any JSON
			checkFields(t, path+"[]", s.Items.Value, shape.Elem())
		}
	case reflect.Map:
		if more := s.AdditionalProperties.Schema; more != nil {
			checkFields(t, path+"{}", more.Value, shape.Elem())
		}
	default:
		if want := kinds[shape.Kind()]; !s.Type.Is(want) {
			t.Errorf("%s: the document has %v, decoded is a %s", path, s.Type, want)
		}
	}
}

// kinds are the JSON types of Go's.
var kinds = map[reflect.Kind]string{
	reflect.String: openapi3.TypeString, reflect.Bool: openapi3.TypeBoolean, reflect.Int: openapi3.TypeInteger, reflect.Int64: openapi3.TypeInteger,
}

// fieldsOf are the fields of a struct and of what is embedded in it, by their JSON names.
func fieldsOf(shape reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(shape) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}
