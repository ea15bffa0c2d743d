package devicerest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"ledge/domain"
	"ledge/domain/jsonlimit"
)

// deep is an object with arrays in it, as many levels in all as said.
func deep(levels int) string {
	return `{"a":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}`
}

func TestObjectReader(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		text string
		end  error
		want string // part of the error, "" for none
	}{
		{`{"a":[1,{"b":null}]}  `, io.EOF, ""},
		{`{}`, io.EOF, ""},
		{` {"": [ ], "b": [true, false, null], "c": [0, -0.1e+1, 12E-3, 1e308]}` + "\r\n\t", io.EOF, ""},
		{`{"a":"\u00Ff\ud800\"\\\/\b\f\n\r\t","a":"` + "\xff\x7f\u2028" + `"}`, io.EOF, ""},
		{deep(maxObjectDepth), io.EOF, ""},
		{`{}`, broken, "broken"},
		{`[1, {"a":"b"}] `, io.EOF, ""}, {`[]`, io.EOF, ""}, {`"text"`, io.EOF, ""}, {` true`, io.EOF, ""}, {`false `, io.EOF, ""},
		{`0`, io.EOF, ""}, {`-12`, io.EOF, ""}, {`1.50 `, io.EOF, ""}, {`1e3`, io.EOF, ""},
		{``, io.EOF, "after 0 bytes: unexpected EOF"},
		{"\ufeff{}", io.EOF, "after 0 bytes: invalid character '\\xef' looking for beginning of value"},
		{`null`, io.EOF, "null is not a value"},
		{`1.`, io.EOF, "after 2 bytes: unexpected EOF"}, {`-`, io.EOF, "after 1 bytes: unexpected EOF"}, {`"a`, io.EOF, "after 2 bytes: unexpected EOF"},
		{`tru`, io.EOF, "after 3 bytes: unexpected EOF"}, {`[1`, io.EOF, "after 2 bytes: unexpected EOF"}, {`01`, io.EOF, "something follows it after 1 bytes"},
		{`1e999`, io.EOF, "outside the range of a float64"}, {`1 2`, io.EOF, "something follows it after 2 bytes"},
		{`{`, io.EOF, "after 1 bytes: unexpected EOF"},
		{`{"a":"\u12`, io.EOF, "after 10 bytes: unexpected EOF"},
		{`{"a":1`, io.EOF, "after 6 bytes: unexpected EOF"},
		{`{"a"}`, io.EOF, "after 4 bytes: invalid character '}' after object key"},
		{`{"a":1,}`, io.EOF, "after 7 bytes: invalid character '}' looking for beginning of object key string"},
		{`{"a":}`, io.EOF, "after 5 bytes: invalid character '}' looking for beginning of value"},
		{`{"a":1]`, io.EOF, "after 6 bytes: invalid character ']' after object key:value pair"},
		{`{"a":[1}`, io.EOF, "after 7 bytes: invalid character '}' after array element"},
		{`{"a":01}`, io.EOF, "after 6 bytes: invalid character '1' after object key:value pair"},
		{`{"a":1.}`, io.EOF, "after 7 bytes: invalid character '}' in numeric literal"},
		{`{"a":nul}`, io.EOF, "after 8 bytes: invalid character '}' in a literal (expecting 'l')"},
		{`{"a":"\x"}`, io.EOF, "after 7 bytes: invalid character 'x' in string escape code"},
		{`{"a":"\u12g4"}`, io.EOF, "after 10 bytes: invalid character 'g' in \\u hexadecimal character escape"},
		{"{\"a\":\"\n\"}", io.EOF, `after 6 bytes: invalid character '\n' in string literal`},
		{"{\xff}", io.EOF, `after 1 bytes: invalid character '\xff' looking for beginning of object key string`},
		{`{}{}`, io.EOF, "something follows it after 2 bytes"},
		{`{} x`, io.EOF, "something follows it after 3 bytes"},
		{deep(maxObjectDepth + 1), io.EOF, "more than 64 levels deep"},
		{`{"a":1e999}`, io.EOF, "outside the range of a float64"},
		{`{"a":[-1` + strings.Repeat("0", 309) + `]}`, io.EOF, "outside the range of a float64"},
		{`{"a":0.` + strings.Repeat("1", 2000) + `}`, io.EOF, "more than 1024 characters"},
	} {
		for _, r := range []io.Reader{&pull{c.text, c.end}, io.MultiReader(strings.NewReader(c.text), iotest.ErrReader(c.end))} {
			o := newValueReader(r, "r")
			got, err := io.ReadAll(o)
			if c.want == "" && (err != nil || string(got) != c.text) {
				t.Errorf("%.40q: got %.40q, %v", c.text, got, err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%.40q: got %v, want %s", c.text, err, c.want)
			}
			if c.want != "" && c.end == io.EOF && (domain.CodeOf(err) != domain.Invalid || o.Err != err) {
				t.Errorf("%.40q: got %v, kept %v", c.text, err, o.Err)
			}
		}
	}
}

// Where an object is needed no other value will do.
func TestObjectReaderTakesOnlyObjects(t *testing.T) {
	for text, want := range map[string]bool{" {} ": true, "": false, "[]": false, "1": false, `"a"`: false, "true": false, "null": false} {
		if _, err := io.ReadAll(newObjectReader(strings.NewReader(text), "r")); (err == nil) != want {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// A value here is what encoding/json takes for one, but null, and is within the limits of domain/jsonlimit, however the text is cut into parts.
func FuzzObjectScanner(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,{"b":null}],"c":"\u00e9\n"} `, `{"n":[1e400]}`, `{"n":[0,-0,0.5,-1.5e+10,1E-2,01,1.,.5,+1,1e,-]}`, "\ufeff{}", "{\"\xff\":\"\x00\"}",
		`{"a":"\ud800\q"}`, `{} {}`, `{"a":tru}`, `[{}]`, `{"a":{},}`, `{"a":[],"b":[{}]}x`, deep(maxObjectDepth), deep(maxObjectDepth + 1),
		`[]`, `"a"`, `-1.5e3 `, `0`, `true`, `null`, ` nul`, `1e999`,
	} {
		f.Add([]byte(text), uint(1))
		f.Add([]byte(text), uint(len(text)/2))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint) {
		want := json.Valid(text) && string(bytes.Trim(text, " \t\r\n")) != "null" && jsonlimit.Check(text) == nil
		at := min(cut, uint(len(text)))
		s := objectScanner{any: true}
		err := s.scan(text[:at])
		if err == nil {
			err = s.scan(text[at:])
		}
		if err == nil {
			err = s.end()
		}
		if (err == nil) != want {
			t.Errorf("%q: got %v, want valid %t", text, err, want)
		}
	})
}

// longString is an object of one string without end, cut off after size bytes.
func longString(size int64) io.Reader {
	return io.MultiReader(strings.NewReader(`{"a":"`), io.LimitReader(xs{}, size), strings.NewReader(`"}`))
}

// xs is the letter x for ever.
type xs struct{}

func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestLongStringIsNotHeld(t *testing.T) {
	const size, most = 8 << 20, 64 << 10 // bytes
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := io.CopyBuffer(onlyWriter{io.Discard}, newObjectReader(longString(size), "r"), make([]byte, 4<<10))
	runtime.ReadMemStats(&after)
	if err != nil || n != size+8 {
		t.Errorf("got %d bytes, %v", n, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > most {
		t.Errorf("allocated %d bytes for a string of %d, want at most %d", got, size, most)
	}
}

// onlyWriter hides that io.Discard brings a buffer of its own.
type onlyWriter struct{ io.Writer }

func BenchmarkObjectReader(b *testing.B) {
	numbers := `{"a":[` + strings.Repeat(`{"n":1.5,"b":[true,null]},`, 40_000) + `0]}`
	for name, open := range map[string]func() io.Reader{
		"string":  func() io.Reader { return longString(1 << 20) },
		"numbers": func() io.Reader { return strings.NewReader(numbers) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(1 << 20)
			for b.Loop() {
				if _, err := io.Copy(io.Discard, newObjectReader(open(), "r")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
