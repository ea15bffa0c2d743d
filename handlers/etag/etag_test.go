package etag

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"ledge/domain"
)

func TestReadTags(t *testing.T) {
	for text, want := range map[string]*Tags{
		`*`:                           {Any: true},
		" \t* ":                       {Any: true},
		`"42"`:                        {Strong: []uint64{42}},
		`W/"42"`:                      {weak: []uint64{42}},
		`"1","2" ,	W/"3",`:            {Strong: []uint64{1, 2}, weak: []uint64{3}},
		`, ,"1"`:                      {Strong: []uint64{1}},
		`""`:                          {},
		`"*"`:                         {},
		`"a,b", "1"`:                  {Strong: []uint64{1}},
		`"042", "+42", "4_2", "-1"`:   {},
		`"18446744073709551615"`:      {Strong: []uint64{1<<64 - 1}},
		`"18446744073709551616"`:      {},
		"\"\xe9\\!\", W/\"x\", \"7\"": {Strong: []uint64{7}},
		"":                            nil,
		", ,":                         nil,
		`42`:                          nil,
		`"42`:                         nil,
		`42"`:                         nil,
		`'42'`:                        nil,
		`w/"42"`:                      nil,
		`W/ "42"`:                     nil,
		`W/42`:                        nil,
		`W/`:                          nil,
		`"1" "2"`:                     nil,
		`"1";"2"`:                     nil,
		`"1"x`:                        nil,
		`*, "1"`:                      nil,
		`"1", *`:                      nil,
		`**`:                          nil,
		`"4 2"`:                       nil,
		"\"4\x7f\"":                   nil,
	} {
		got, err := Read(http.Header{"If-Match": {text}}, "If-Match")
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
		if says := "is not a list of entity tags; send the ETag of an answer"; (err == nil) != (want != nil) ||
			err != nil && (domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: got error %v", text, err)
		}
	}
}

func TestReadTagsOfSeveralLines(t *testing.T) {
	got, err := Read(http.Header{"If-Match": {`"1"`, `W/"2", "3"`}}, "If-Match")
	if want := (&Tags{Strong: []uint64{1, 3}, weak: []uint64{2}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if got, err := Read(http.Header{}, "If-Match"); got != nil || err != nil {
		t.Errorf("no header: got %+v, %v", got, err)
	}
}

func FuzzTags(f *testing.F) {
	f.Add(`"42", W/"7"`)
	f.Add(`*`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Read(http.Header{"If-Match": {text}}, "If-Match")
		if (got == nil) == (err == nil) {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	})
}
