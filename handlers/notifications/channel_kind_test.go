package notifications

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ledge/domain"
)

// The shape shows each field of a channel and takes it back, and the document has the types and schemes of the table of kinds.
func TestChannelKindsAreShown(t *testing.T) {
	shape := reflect.TypeFor[domain.Channel]()
	for i := range shape.NumField() {
		c := domain.Channel{}
		f := reflect.ValueOf(&c).Elem().Field(i)
		switch f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int:
			f.SetInt(1)
		case reflect.Bool:
			f.SetBool(true)
		default:
			f.Set(reflect.ValueOf([]string{"x"}))
		}
		if got := shapeChannel(c).channel(); !got.Equal(c) {
			t.Errorf("%s: got %+v, want %+v", shape.Field(i).Name, got, c)
		}
	}
	var schemes []string
	for _, k := range domain.ChannelKinds() {
		schemes = append(schemes, k.Schemes...)
	}
	for name, values := range map[string][]string{"type": domain.ChannelTypes(), "scheme": schemes} {
		if want := fmt.Sprintf("%s: {type: string, enum: [%s]", name, strings.Join(values, ", ")); !strings.Contains(string(document), want) {
			t.Errorf("openapi.yaml lacks %s", want)
		}
	}
}
