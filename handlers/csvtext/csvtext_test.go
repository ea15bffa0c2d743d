package csvtext_test

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"ledge/handlers/csvtext"
)

func TestAppendRow(t *testing.T) {
	for _, one := range []struct {
		cells []string
		want  string
	}{
		{[]string{"a", "", "21.5"}, "a,,21.5\r\n"},
		{[]string{"a,b", `say "no"`, "two\nlines", "two\r\nlines"}, "\"a,b\",\"say \"\"no\"\"\",\"two\nlines\",\"two\r\nlines\"\r\n"},
		{[]string{"-5", "+1.25e+03", "-.5", "-1e-7"}, "-5,+1.25e+03,-.5,-1e-7\r\n"},
		{[]string{"=1+1", "+cmd", "-", "@SUM(A1)"}, "\"'=1+1\",\"'+cmd\",\"'-\",\"'@SUM(A1)\"\r\n"},
		{[]string{"\t=1", "\r=1", "＝1", "-5-5", "+1 "}, "\"'\t=1\",\"'\r=1\",\"'＝1\",\"'-5-5\",\"'+1 \"\r\n"},
		{[]string{"a=b", "1-2", " =1", "'=1"}, "a=b,1-2, =1,'=1\r\n"},
		{[]string{`="`}, "\"'=\"\"\"\r\n"},
	} {
		if got := string(csvtext.AppendRow(nil, one.cells...)); got != one.want {
			t.Errorf("%q: got %q, want %q", one.cells, got, one.want)
		}
	}
}

// FuzzAppendRow holds that a reader gets the cells back, guarded ones behind an apostrophe. The reader makes LF of CRLF.
func FuzzAppendRow(f *testing.F) {
	f.Add("a", "=1")
	f.Add("\"\r\n,", "-5")
	f.Fuzz(func(t *testing.T, a, b string) {
		want := []string{"x", a, b}
		for i, cell := range want {
			if csvtext.IsFormula(cell) {
				want[i] = "'" + cell
			}
			want[i] = strings.ReplaceAll(want[i], "\r\n", "\n")
		}
		got, err := csv.NewReader(strings.NewReader(string(csvtext.AppendRow(nil, "x", a, b)))).Read()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	})
}
