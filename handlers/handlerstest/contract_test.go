package handlerstest

import (
	_ "embed"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"ledge/handlers"
)

// smallDocument is merged as the documents of the services are.
//
//go:embed testdata/openapi_merged.yaml
var smallDocument []byte

// TestContract holds that what is not in a document is noticed, in requests and in answers.
func TestContract(t *testing.T) {
	type header = map[string]string
	const done = `{"apiVersion":"v2","statusCode":200}`
	json := header{"Content-Type": "application/json", "X-Correlation-Id": "1"}
	with := func(key, value string) header {
		return header{"Content-Type": "application/json", "X-Correlation-Id": "1", key: value}
	}
	for _, c := range []struct {
		name, method, path string
		asked              header
		sent               string
		status             int
		header             header
		got                string
		loose              bool
		want               string
	}{
		{"right", "POST", "/thing/a?limit=5", header{"X-Correlation-Id": "1"}, `[{"size":1}]`, 200, json, done, false, ""},
		{"refused, whatever was sent", "POST", "/thing/a?x=1", header{"X-Y": "1"}, `[{"z":1}]`, 404, json, `{"apiVersion":"v2","message":"m","statusCode":404}`, false, ""},
		{"loose", "POST", "/thing/a", nil, `[{"z":1}]`, 200, json, done, true, ""},
		{"loose for nothing", "POST", "/thing/a", nil, `[{"size":1}]`, 200, json, done, true, "it is not loose"},
		{"status", "POST", "/thing/a", nil, `[{"size":1}]`, 201, json, done, false, "the status is not documented"},
		{"status beside the answer's", "POST", "/thing/a", nil, `[]`, 404, json, `{"apiVersion":"v2","message":"m","statusCode":400}`, false, "the answer's statusCode is 400"},
		{"field of the answer", "POST", "/thing/a", nil, `[{"size":1}]`, 200, json, `{"apiVersion":"v2","statusCode":200,"more":1}`, false, `property "more" is unsupported`},
		{"no field of the answer", "POST", "/thing/a", nil, `[{"size":1}]`, 200, json, `{"apiVersion":"v2"}`, false, `property "statusCode" is missing`},
		{"answer no JSON", "POST", "/thing/a", nil, `[{"size":1}]`, 200, json, `{`, false, "is no JSON"},
		{"media type", "POST", "/thing/a", nil, `[{"size":1}]`, 200, with("Content-Type", "text/plain"), done, false, `Content-Type "text/plain" is not documented`},
		{"header of the answer", "POST", "/thing/a", nil, `[{"size":1}]`, 200, with("Etag", `"1"`), done, false, "header Etag is not documented"},
		{"no header of the answer", "POST", "/thing/a", nil, `[{"size":1}]`, 200, header{"Content-Type": "application/json"}, done, false, "no header X-Correlation-ID"},
		{"field of the request", "POST", "/thing/a", nil, `[{"size":1,"more":1}]`, 200, json, done, false, `property "more" is unsupported`},
		{"type of the request", "POST", "/thing/a", nil, `[{"size":"1"}]`, 200, json, done, false, "/0/size: value must be an integer"},
		{"no body", "POST", "/thing/a", nil, ``, 200, json, done, false, "the request has no body"},
		{"header of the request", "POST", "/thing/a", header{"If-Match": "1"}, `[{"size":1}]`, 200, json, done, false, "header If-Match is not documented"},
		{"query", "POST", "/thing/a?offset=1", nil, `[{"size":1}]`, 200, json, done, false, "query's offset is not documented"},
		{"query out of range", "POST", "/thing/a?limit=5000", nil, `[{"size":1}]`, 200, json, done, false, "number must be at most 1024"},
		{"path", "GET", "/nosuch", nil, "", 200, json, done, false, "GET /api/v2/nosuch is not in it"},
		{"unknown path", "GET", "/nosuch", nil, "", 404, header{}, "404 page not found\n", false, ""},
		{"slash in a name", "POST", "/thing/a%2Fb", nil, "", 404, header{}, "404 page not found\n", false, ""},
		{"method", "PUT", "/thing/a", nil, "", 405, header{"Allow": "POST"}, "", false, ""},
		{"method without Allow", "PUT", "/thing/a", nil, "", 405, header{}, "no", false, "PUT /api/v2/thing/a is not in it"},
		{"method that works", "PUT", "/thing/a", nil, "", 200, json, done, false, "PUT /api/v2/thing/a is not in it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, "/api/v2"+c.path, nil)
			x := Exchange{Request: r, Sent: []byte(c.sent), Status: c.status, Header: http.Header{}, Got: []byte(c.got), Loose: c.loose}
			for k, v := range c.asked {
				r.Header.Set(k, v)
			}
			for k, v := range c.header {
				x.Header.Set(k, v)
			}
			err := LoadContract(smallDocument).Check(x)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestContractKnowsWhatIsNotDriven(t *testing.T) {
	c := LoadContract(smallDocument)
	before := c.undriven()
	for _, key := range []string{"POST /thing/{name} 200", "POST /thing/{name} 404", "GET /ping 200"} {
		if !slices.Contains(before, key) {
			t.Errorf("%s is missing in %v", key, before)
		}
	}
	x := Exchange{Request: httptest.NewRequest("POST", "/api/v2/thing/a", nil), Status: 404}
	_ = c.Check(x)
	if slices.Contains(c.undriven(), "POST /thing/{name} 404") || len(c.undriven()) != len(before)-1 {
		t.Errorf("after a request: %v", c.undriven())
	}
}

func TestContractKnowsRoutes(t *testing.T) {
	routes := []handlers.Route{{Method: "POST", Path: "/api/v2/thing/:id"}, {Method: "GET", Path: "/api/v2/more"}}
	got := LoadContract(smallDocument).missing(routes)
	if !slices.Contains(got, "GET /api/v2/more is served and not in the document") || !slices.Contains(got, "GET /api/v2/ping is in the document and not served") || slices.ContainsFunc(got, func(m string) bool { return strings.Contains(m, "thing") }) {
		t.Errorf("got %v", got)
	}
}
