package domain

import (
	"slices"
	"strings"
	"testing"
)

func TestPostReading(t *testing.T) {
	kept := with(picture(), func(r *ReadingPosted) { r.Digest, r.Value, r.Size = "9f86d0", nil, 5<<20 })
	runDecisions(t, []decision{
		{name: "in the message", given: onboarded(), when: PostReading{picture()}, want: picture()},
		{name: "beside the log", given: onboarded(), when: PostReading{kept}, want: kept},
		{name: "the same again", given: append(onboarded(), picture()), when: PostReading{picture()}, want: picture()},
	})
}

func TestReadingPostedKeepsTheFactOnly(t *testing.T) {
	want := picture().Reading
	want.Event = otherID
	got, ok := given(picture()).Readings.Get(otherID)
	if !ok || got != want {
		t.Errorf("got %#v, %t, want %#v", got, ok, want)
	}
}

// What the state has of a value is the same whether it comes live or from the log.
func TestTextOfReadings(t *testing.T) {
	long := strings.Repeat("x", MaxRowText+1)
	for name, c := range map[string]struct {
		e    ReadingPosted
		want string
	}{
		"the body itself":   {ReadingPosted{Reading{ValueType: "Int8"}, []byte("46")}, "46"},
		"other than posted": {ReadingPosted{Reading{ValueType: "Float32", Text: "1.250000e+01"}, []byte("12.5")}, "1.250000e+01"},
		"no text":           {ReadingPosted{Reading{ValueType: Binary}, []byte("46")}, ""},
		"too long":          {ReadingPosted{Reading{ValueType: "String"}, []byte(long)}, ""},
		"a file":            {ReadingPosted{Reading{ValueType: "Object", Digest: "9f"}, nil}, ""},
	} {
		c.e.ID, c.e.Event, c.e.Profile, c.e.Device, c.e.Resource = otherID, noticeID, "p", "d", "r"
		for how, e := range map[string]Event{"live": c.e, "from the log": reread(t, c.e)} {
			s := given(e)
			r, _ := s.Readings.Get(otherID)
			d, _ := s.DataEvents.Get(noticeID)
			if r.Text != c.want || r.Event != noticeID || !slices.Equal(d.Readings, []string{otherID}) || d.Source != "r" {
				t.Errorf("%s, %s: got %+v, %+v", name, how, r, d)
			}
		}
	}
}
