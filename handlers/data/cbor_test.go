package data

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"

	"ledge/handlers"
	"ledge/handlers/answers"
	"ledge/handlers/handlerstest"
)

const (
	asCBOR = "Content-Type: application/cbor"
	inCBOR = "Accept: application/cbor"
)

func mustCBOR(tb testing.TB, v any) string {
	tb.Helper()
	b, err := cbor.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// fromJSON is a value of JSON as cbor would marshal it.
func fromJSON(tb testing.TB, text string) (v map[string]any) {
	tb.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		tb.Fatal(err)
	}
	return integers(v).(map[string]any)
}

func integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, one := range v {
			v[k] = integers(one)
		}
	case []any:
		for i, one := range v {
			v[i] = integers(one)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	}
	return v
}

func TestAddEventInCBOR(t *testing.T) {
	f := mustData(t)
	id := handlerstest.ID(700)
	event := fromJSON(t, posted(id, `"valueType":"Binary","mediaType":"a/b"`, `"valueType":"Object","objectValue":{"a":[1,-2.5,null,true,"x"]}`, five))
	body := event["event"].(map[string]any)
	body["tags"] = map[any]any{"site": "north", "at": []byte{1}}
	body["readings"].([]any)[0].(map[string]any)["binaryValue"] = []byte{1, 2, 3}
	w := handlerstest.Serve(f, "POST", path, mustCBOR(t, event), asCBOR+"; x=y")
	if w.Code != 201 || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	got := handlerstest.Serve(f, "GET", api+"/event/id/"+id, "").Body.String()
	for _, want := range []string{`"binaryValue":"AQID","mediaType":"a/b"`, `"objectValue":{"a":[1,-2.5,null,true,"x"]}`, `"tags":{"at":"AQ==","site":"north"}`, five} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
	}
	post := func(name, body, says string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "POST", Path: path, Body: body, Header: []string{asCBOR}, Status: 400, Contains: []string{says}}
	}
	nan := map[string]any{"event": map[string]any{"tags": map[string]any{"a": math.NaN()}}}
	handlerstest.Run(t, f, f.log, []handlerstest.Scenario{
		post("JSON", posted(id, five), "the body is no CBOR object"),
		post("nothing", "", "the body is no CBOR object"),
		post("cut", mustCBOR(t, event)[:99], "the body is no CBOR object"),
		post("tagged", "\xd9\xd9\xf7\xa0", "the body is no CBOR object"),
		post("no JSON in it", mustCBOR(t, nan), "NaN"),
		post("a list", "\x80", `no CBOR object: body has the type array where another one is needed; send one object`),
		post("a wrong type", mustCBOR(t, map[string]any{"event": map[string]any{"origin": "x"}}), `event has the type UTF-8 text string where another one is needed`),
		post("empty", "\xa0", "apiVersion: is missing"),
		{Name: "CBOR as JSON", Method: "POST", Path: path, Body: mustCBOR(t, event), Status: 400, Contains: []string{"the body is no JSON: invalid character"}},
	})
}

// The memory that entries take is bounded before they are decoded.
func TestManyItems(t *testing.T) {
	f := mustData(t, func(o *handlers.Options) { o.BodyMemory = 100_000 })
	many := map[string]any{"event": map[string]any{"tags": map[string]any{"a": make([]int, 1000)}}}
	for kind, body := range map[string]string{asCBOR: mustCBOR(t, many), "Content-Type: application/json": `{"event":{"tags":{"a":[` + strings.Repeat("0,", 1000) + `0]}}}`} {
		if w := handlerstest.Serve(f, "POST", path, body, kind); w.Code != 413 {
			t.Errorf("%s: got %d %s", kind, w.Code, w.Body)
		}
	}
}

func TestCountItems(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "\x00": 1, "\x18\xff": 1, "\x1b\x00\x00\x00\x00\x00\x00\x00\x01": 1, "\x43abc": 1, "\x58\x03abc\x00": 2,
		"\x82\x00\x00": 3, "\xa1\x61a\xf6": 8, "\x9f\x00\xff": 3, "\x5b\xff\xff\xff\xff\xff\xff\xff\xff\x00": 1, "\x19\x00": 1, "\x78": 1,
	} {
		if got := countItems([]byte(text)); got != want {
			t.Errorf("%x: got %d, want %d", text, got, want)
		}
	}
}

// CBOR says the same as JSON, with bytes for base64.
func TestAnswersInCBOR(t *testing.T) {
	f := mustData(t)
	object := `{"a":[1,-1,24,255,256,65536,-0,4294967296,18446744073709551615,-9223372036854775808,1.5,1e300,true,false,null,{}],"\u00fc\n":"\ud83d\ude00 \/"}`
	text := strings.Repeat("long ü ", 2000)
	for i, r := range []string{`"valueType":"Object","objectValue":` + object, `"valueType":"String","value":"` + text + `"`} {
		if w := handlerstest.Serve(f, "POST", path, posted(handlerstest.ID(700+i), r)); w.Code != 201 {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
	}
	for _, path := range []string{"/event/all", "/reading/all", "/event/id/" + eventID, "/reading/all?limit=0"} {
		plain := handlerstest.Serve(f, "GET", api+path, "")
		w := handlerstest.Serve(f, "GET", api+path, "", inCBOR)
		if kind := w.Header().Get("Content-Type"); w.Code != 200 || kind != typeCBOR || w.Header().Get("Content-Disposition") != "attachment" {
			t.Fatalf("%s: got %d %v", path, w.Code, w.Header())
		}
		var got, want any
		if err := decoder.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v in %x", path, err, w.Body)
		}
		again, err := json.Marshal(got) // bytes become base64
		if err == nil {
			err = json.Unmarshal(again, &got)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(plain.Body.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	if w := handlerstest.Serve(f, "GET", api+"/event/id/"+handlerstest.ID(999), "", inCBOR); w.Header().Get("Content-Type") != typeJSON {
		t.Errorf("an error is in %s", w.Header())
	}
}

func TestWantsCBOR(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "application/cbor": true, "Application/CBOR; q=0.5": true,
		"application/cbor, application/json": true, "application/json;q=0.9, application/cbor;q=0.8": false, "application/cbor;q=0": false,
		"text/html,,application/cbor": true, "application/*": false,
	} {
		if got := wantsCBOR(map[string][]string{"Accept": {accept}}); got != want {
			t.Errorf("%q: got %t", accept, got)
		}
	}
}

// Texts that are longer than what is in memory at a time come through in parts, none of which cuts a character.
func TestTranscodeLongStrings(t *testing.T) {
	for name, text := range map[string]string{
		"bytes":      strings.Repeat("x", 3*textBytes),
		"exactly":    strings.Repeat("x", textBytes),
		"characters": "x" + strings.Repeat("😀", textBytes),
		"escapes":    strings.Repeat("\"\\\n\u0001<", textBytes),
		"surrogates": strings.Repeat("\u2028", textBytes),
	} {
		b, err := json.Marshal(map[string]string{text: text})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		out := transcoded(t, b)
		if err := cbor.Unmarshal(out, &got); err != nil || got[text] != text {
			t.Errorf("%s: %v", name, err)
		}
	}
	for text, want := range map[string]string{
		`"\ud83dx"`: "\ufffdx", `"\ud83d"`: "\ufffd", `"\ud83d\u0041"`: "\ufffdA", "\"\xff\"": "\ufffd",
	} {
		var got string
		if err := cbor.Unmarshal(transcoded(t, []byte(text)), &got); err != nil || got != want {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
}

// However long a number is, it is one item.
func TestTranscodeLongNumbers(t *testing.T) {
	long := strings.Repeat("1", 2*longestNumber)
	for text, want := range map[string]float64{
		long: math.Inf(1), "-" + long: math.Inf(-1), "-" + long + "e-5": math.Inf(-1), "1." + long: 1.11111111111111111111, "0." + long + "E+2": 11.11111111111111111111,
		long[:longestNumber] + "e-4095": 1.11111111111111111111,
	} {
		var got []any
		if err := cbor.Unmarshal(transcoded(t, []byte("["+text+",true]")), &got); err != nil || len(got) != 2 || got[0] != want || got[1] != true {
			t.Errorf("%.9s…: got %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestTranscodeFaults(t *testing.T) {
	for _, text := range []string{`"x`, `"\`, `"\u12`, `1.2.3`, `nul`, `@`, strings.Repeat("1", 2*longestNumber) + "x"} {
		var b bytes.Buffer
		if err := transcode(cborEncoder{answers.NewOutput(&b)}, strings.NewReader(text)); err == nil {
			t.Errorf("%.20q is taken for JSON", text)
		}
	}
}

func transcoded(tb testing.TB, text []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	out := answers.NewOutput(&b)
	if err := transcode(cborEncoder{out}, iotest.HalfReader(bytes.NewReader(text))); err != nil {
		tb.Fatal(err)
	}
	if out.Flush(); out.Err != nil {
		tb.Fatal(out.Err)
	}
	return b.Bytes()
}

func FuzzTranscode(f *testing.F) {
	f.Add([]byte(`{"a":[1,-2.5e3,null,"\u00fc\ud83d\ude00"],"b":{"c":true}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var want any
		if !utf8.Valid(text) || json.Unmarshal(text, &want) != nil { // JSON replaces each byte that is no UTF-8, CBOR all that are together
			return
		}
		var b bytes.Buffer
		out := answers.NewOutput(&b)
		if transcode(cborEncoder{out}, bytes.NewReader(text)) != nil {
			t.Fatalf("%q is no JSON", text)
		}
		out.Flush()
		var got any
		if err := decoder.Unmarshal(b.Bytes(), &got); err != nil && !strings.Contains(err.Error(), "nested") {
			t.Fatalf("%q: %v", text, err)
		} else if err == nil && fmt.Sprint(asFloats(got)) != fmt.Sprint(asFloats(want)) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	})
}

func asFloats(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, one := range v {
			v[k] = asFloats(one)
		}
	case []any:
		for i, one := range v {
			v[i] = asFloats(one)
		}
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return v
}
