package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
)

// thing has a field of each type that a form may have.
type thing struct {
	Name   string              `json:"name"`
	Labels []string            `json:"labels,omitempty"`
	Limit  int                 `json:"limit"`
	Pairs  map[string]string   `json:"pairs"`
	Lists  map[string][]string `json:"lists"`
	Odd    any                 `json:"odd"`
}

var thingInputs = Inputs[thing]{
	{Field: Field{Name: "name", Value: "new one"}, New: true},
	{Field: Field{Name: "labels"}, Optional: true, Exact: true},
	{Field: Field{Name: "limit", Type: "number", More: true}},
	{Field: Field{Name: "pairs"}},
	{Field: Field{Name: "lists"}},
	{Field: Field{Name: "odd"}, Of: func(*thing) string { return "odd" }, Parse: func(text string, _ func(int64) error) (any, error) {
		if text != "odd" {
			return nil, errors.New("write odd")
		}
		return true, nil
	}},
}

// TestInputsKeepEntities holds that the form of an entity makes a request that changes nothing.
func TestInputsKeepEntities(t *testing.T) {
	for _, one := range []thing{
		{Name: "a", Labels: []string{"x", "y"}, Limit: 3, Pairs: map[string]string{"k": "v=w", "l": ""}, Lists: map[string][]string{"k": {"1", "2"}}},
		{Name: "b", Pairs: map[string]string{}, Lists: map[string][]string{}},
	} {
		f := thingInputs.FormOf(&one, one.Name, 7)
		want := map[string]any{"name": one.Name, "pairs": one.Pairs, "lists": one.Lists, "odd": true}
		if one.Labels != nil {
			want["labels"], want["limit"] = one.Labels, one.Limit
		}
		if got := thingInputs.Values(f, nil); !reflect.DeepEqual(got, want) || f.New() || f.Revision != "7" {
			t.Errorf("got %v, want %v; %+v", got, want, f)
		}
	}
}

// TestFormsAreShownAgain reads a form, and shows it again with its errors.
func TestFormsAreShownAgain(t *testing.T) {
	sent := url.Values{"name": {" x "}, "labels": {" a, b "}, "limit": {"much"}, "odd": {"even"}, "revision": {"9"}}
	for old, want := range map[string]string{"": "x| a, b |much|||even", "kept": "kept| a, b |much|||even"} {
		hidden := 0 // fields of new ones only
		if old != "" {
			hidden = 1
		}
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(sent.Encode()))
		c.Request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		f := thingInputs.Read(c, old)
		var texts []string
		for _, one := range thingInputs {
			texts = append(texts, f.Texts[one.Name])
		}
		if got := strings.Join(texts, "|"); got != want || f.Revision != "9" {
			t.Errorf("old %q: read %q, want %q", old, got, want)
		}
		values := thingInputs.Values(f, nil)
		if _, ok := values["limit"]; ok || fmt.Sprint(values["labels"]) != "[a b]" {
			t.Errorf("sent %v", values)
		}
		thingInputs.Show(f)
		const wrongLimit = `Write a whole number, such as 3, in place of "much".`
		if f.Field("odd").Error != "Write odd." || f.Field("limit").Error != wrongLimit || !f.MoreOpen {
			t.Errorf("shown %+v", f.Fields)
		}
		if len(f.Fields) != len(thingInputs)-hidden || f.Field("limit").Type != "number" || f.Field("odd").Type != "text" {
			t.Errorf("old %q: shown %+v", old, f.Fields)
		}
	}
	if got := thingInputs.Blank().Texts["name"]; got != "new one" {
		t.Errorf("a new one has the name %q", got)
	}
}
