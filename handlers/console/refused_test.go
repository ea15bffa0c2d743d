package console

import "testing"

func TestSampleOf(t *testing.T) {
	for data, want := range map[string]string{
		"":                       "",
		"{\"a\":\n\t\"\u00e9\"}": "{\"a\":\n\t\"\u00e9\"}",
		"text \xc3":              "text ", // cut within a character
		"\xa1\x61a\x01":          "a1 61 61 01",
		"\x00":                   "00",
	} {
		if got := sampleOf([]byte(data)); got != want {
			t.Errorf("%q: got %q, want %q", data, got, want)
		}
	}
}
