package fastjson

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// everything has a field of each plan.
type everything struct {
	Head
	Text   string                       `json:"text"`
	State  state                        `json:"state,omitempty"`
	On     bool                         `json:"on,omitempty"`
	N      int64                        `json:"n,omitempty"`
	Small  int8                         `json:"small"`
	U      uint16                       `json:"u,omitempty"`
	Raw    json.RawMessage              `json:"raw,omitempty"`
	Texts  []string                     `json:"texts,omitempty"`
	Dict   map[string]string            `json:"dict,omitempty"`
	Dicts  map[string]map[string]string `json:"dicts"`
	Parts  []part                       `json:"parts,omitempty"`
	Ways   ways                         `json:"ways,omitzero"`
	Named  map[state]part               `json:"named,omitempty"`
	Part   *part                        `json:"part"`
	Name   *string                      `json:"name,omitempty"`
	Any    any                          `json:"any,omitempty"`
	Attr   map[string]any               `json:"attr"`
	Bytes  []byte                       `json:"bytes"`
	Time   time.Time                    `json:"time"`
	F      float64                      `json:"f,omitempty"`
	Later  later                        `json:"later"`
	Simple simple                       `json:"simple"`
	Hidden string                       `json:"-"`
	Bare   string
	own    string
}

type (
	state string
	// Head is embedded.
	Head struct {
		Version string `json:"version"`
		ID      string `json:"id,omitempty"`
	}
	part struct {
		A string `json:"a"`
		B bool   `json:"b"`
		C []part `json:"c,omitempty"`
	}
	ways map[string]way
	way  struct {
		At  *int            `json:"at,omitempty"`
		Is  json.RawMessage `json:"is,omitempty"`
		In  ways            `json:"in,omitzero"`
		Any any             `json:"any,omitempty"`
	}
	simple struct {
		Zero map[string]string `json:"zero,omitzero"`
		None []string          `json:"none,omitzero"`
		One  *part             `json:"one,omitzero"`
	}
	later struct {
		Zero map[string]string `json:"zero,omitzero"`
		None []string          `json:"none,omitzero"`
		Part part              `json:"part,omitzero"`
		When time.Time         `json:"when,omitzero"`
	}
)

var (
	codec  = Of[everything]()
	writer = WriterOf(reflect.TypeFor[everything]())
)

var samples = []string{
	`{}`, ` { } `, `null`, `[]`, `7`, ``, `{`, `{"text":"a"`, `{"text":"a"}x`, `{"text":"a",}`, `{,}`, `{"text"}`, `{"text":}`,
	`{"version":"v2","id":"1","text":"plain","state":"UP","on":true,"n":12,"small":-7,"u":65535,"raw":{"a":[1,2]},"texts":["a","b"],` +
		`"dict":{"b":"1","a":"2"},"dicts":{"x":{},"y":{"k":"v"}},"parts":[{"a":"1","b":true,"c":[{"a":"2"}]},{}],"part":{"a":"x"},"name":"n",` +
		`"any":[1.5,null,{"k":"v"}],"attr":{"z":1e3},"bytes":"AQI=","time":"2026-01-02T03:04:05Z","f":0.1,"later":{"zero":{}},"simple":{"zero":{},"none":[]},"Bare":"b"}`,
	"{ \"text\" :\t\"a\" ,\r\n \"on\" : false , \"texts\" : [ \"a\" , \"b\" ] , \"dict\" : { \"a\" : \"b\" } , \"parts\" : [ { } , null ] }",
	`{"text":"a","text":"b"}`, `{"dict":{"a":"1","a":"2"}}`, `{"dicts":{"a":{"b":"1"},"a":{"c":"2"}}}`, `{"parts":[{"a":"1","a":"2"}]}`,
	`{"part":{"a":"1"},"part":{"b":true}}`, `{"parts":[{"a":"1"}],"parts":[{"b":true}]}`, `{"any":{"a":1},"any":{"b":2}}`,
	`{"TEXT":"a"}`, `{"unknown":1,"text":"a"}`, `{"Hidden":"a","-":"b","own":"c","bare":"d"}`, `{"te\u0078t":"a"}`, `{"Head":{"version":"1"}}`,
	`{"text":null,"on":null,"n":null,"raw":null,"texts":null,"dict":null,"dicts":null,"parts":null,"part":null,"name":null,"any":null,"time":null}`,
	`{"ways":{"b":{"is":"x y"},"a":{"at":3,"is":[1,"]"]},"c":{"in":{"z":{"is":1},"y":{}},"any":{"k":1}},"é\"<":{}},"named":{"UP":{"a":"1"}}}`, `{"ways":{}}`, `{"ways":null}`,
	`{"ways":{"a":null}}`, `{"ways":{"a":{"at":1},"a":{"is":2}}}`, `{"ways":{"a":{"other":1}}}`, `{"ways":{"a":1}}`, `{"ways":[]}`, `{"ways":{"a":{"is":"<"}}}`, `{"ways":{"a":{"is":"\u003c"}}}`,
	`{"ways":{"a":{"is":"a` + "\n" + `"}}}`, `{"ways":{"a":{"is":"a"b}}}`, `{"ways":{"a":{"is":"a`, `{"ways":{"a":{"is":"` + strings.Repeat("long ", 250_000) + `"}}}`,
	`{"texts":["a",null]}`, `{"dict":{"a":null}}`, `{"dicts":{"a":null}}`, `{"texts":[]}`, `{"dict":{}}`, `{"dicts":{}}`, `{"parts":[]}`, `{"texts":[1]}`,
	`{"n":-0}`, `{"n":01}`, `{"n":1.0}`, `{"n":1e2}`, `{"n":-}`, `{"n":9223372036854775807}`, `{"n":9223372036854775808}`, `{"small":128}`, `{"u":-1}`, `{"u":65536}`, `{"n":"1"}`,
	`{"on":truE}`, `{"on":truex}`, `{"on":1}`, `{"text":nul}`, `{"text":nullx}`, `{"text":1}`, `{"text":{}}`, `{"text":["a"]}`, `{"parts":{}}`, `{"part":[]}`, `{"dict":[]}`,
	`{"text":"\u003cb\u003e \"q\" \\ \/ \n \ud83d\ude00"}`, `{"text":"é ` + "\u2028" + `"}`, "{\"text\":\"\xff\"}", "{\"text\":\"a\nb\"}", `{"text":"\x"}`, `{"text":"\ud800"}`, `{"text":"\`, `{"text":"a`,
	"{\"dict\":{\"\xff\":\"\\u00e9\"}}", `{"raw": [ 1 , "]}" ] }`, `{"raw":"\"}"}`, `{"raw":1:2}`, `{"raw":}`, `{"raw":{]}`, `{"raw":01}`, `{"raw":"<&>"}`, `{"any":{"a":1}`, `{"any":[}`,
	`{"raw":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, `{"any":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + `}`,
	`{"any":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`, `{"text":"` + strings.Repeat("long ", 250_000) + `"}`,
}

// hold holds that a text means here what it means to encoding/json, and that its value is written alike.
func hold(t *testing.T, data []byte) {
	t.Helper()
	var got, want everything
	err, wantErr := codec.Unmarshal(data, &got), json.Unmarshal(data, &want)
	if !reflect.DeepEqual(got, want) || !sameError(err, wantErr) {
		t.Fatalf("%.300q:\n got %+v, %v\nwant %+v, %v", data, got, err, want, wantErr)
	}
	holdWritten(t, &want)
}

func holdWritten(t *testing.T, v *everything) {
	t.Helper()
	const before = "before"
	got, err := codec.Append([]byte(before), v)
	want, wantErr := json.Marshal(*v)
	if string(got) != before+string(want) || (err == nil) != (wantErr == nil) {
		t.Fatalf("%+v:\n got %s, %v\nwant %s, %v", v, got, err, want, wantErr)
	}
	if again, err := writer.Append([]byte(before), *v); string(again) != string(got) || (err == nil) != (wantErr == nil) {
		t.Fatalf("%+v: the writer appends\n     %s, %v\nwant %s, %v", v, again, err, want, wantErr)
	}
}

func sameError(a, b error) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error())
}

func TestAsEncodingJSON(t *testing.T) {
	for _, s := range samples {
		hold(t, []byte(s))
	}
}

// TestLongTextIsNotKept holds that a short string of a long text does not keep all of that in memory.
func TestLongTextIsNotKept(t *testing.T) {
	var kept []string
	inUse := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	data := []byte(`{"text":"short","name":"` + strings.Repeat("long", mostShared/4) + `"}`)
	before := inUse()
	for range 16 {
		var v everything
		if err := codec.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, v.Text)
	}
	if got := inUse() - before; got > 2*mostShared {
		t.Errorf("%d short strings keep %d bytes", len(kept), got)
	}
	runtime.KeepAlive(data)
}

func TestWrittenAsByEncodingJSON(t *testing.T) {
	for _, s := range []string{"", "plain", "<&>", `"\`, "\x00\x1f\x7f", "é\u2028\u2029", "\xff", "a b"} {
		one := part{A: s, B: true}
		holdWritten(t, &everything{
			Head: Head{Version: s, ID: s}, Text: s, State: state(s), Texts: []string{s, s}, Dict: map[string]string{s: s, "k": ""},
			Dicts: map[string]map[string]string{s: {s: s}, "nil": nil}, Parts: []part{one, {C: []part{one}}}, Part: &one, Name: &s,
			Any: s, Attr: map[string]any{s: 1.5}, Bytes: []byte(s), Bare: s, own: s, Hidden: s,
		})
	}
	for _, raw := range []string{`""`, `"`, `"a"b"`, `"a"b`, `"a","b"`, "1", `{"a":[true,"x"]}`, `{ "a" : "<" }`, `"a b"`, `"\u003c"`, "", "{", "nope"} {
		holdWritten(t, &everything{Raw: json.RawMessage(raw)})
		holdWritten(t, &everything{Ways: ways{"b": {Is: json.RawMessage(raw)}, "a": {In: ways{"c": {Is: json.RawMessage(raw)}}}}})
	}
	holdWritten(t, &everything{N: math.MinInt64, Small: -128, U: 65535, F: math.Copysign(0, -1), Texts: []string{}, Dict: map[string]string{}, Parts: []part{}})
	holdWritten(t, &everything{F: math.NaN()})
}

// TestVerbatim holds that what is said to be written verbatim is, by encoding/json too, and that nothing else is said to be.
func TestVerbatim(t *testing.T) {
	for raw, want := range map[string]bool{
		"": true, "1": true, "null": true, `{"a":[true,"x y"]}`: true, `["",1e9,{"b":-0.5}]`: true, strings.Repeat("[", 64) + strings.Repeat("]", 64): true,
		`{"a": 1}`: false, "[1]\n": false, `"<"`: false, `"\u003c"`: false, `"é"`: false, "\"\xff\"": false, strings.Repeat("[", 65) + strings.Repeat("]", 65): false,
	} {
		if got := Verbatim([]byte(raw)); got != want {
			t.Errorf("%q: got %t, want %t", raw, got, want)
		}
		if !want || raw == "" {
			continue
		}
		text, err := json.Marshal(json.RawMessage(raw))
		if err != nil || string(text) != raw {
			t.Errorf("%q: encoding/json writes %q, %v", raw, text, err)
		}
		holdWritten(t, &everything{Raw: json.RawMessage(raw)})
		holdWritten(t, &everything{Ways: ways{"b": {Is: json.RawMessage(raw)}, "a": {In: ways{"c": {Is: json.RawMessage(raw)}}}}})
		var back everything
		if err := codec.Unmarshal([]byte(`{"raw":`+raw+`}`), &back); err != nil || string(back.Raw) != raw {
			t.Errorf("%q: read back as %q, %v", raw, back.Raw, err)
		}
	}
}

// TestOrder holds that fields are written in the order of their tags, and that a text in any order is read.
func TestOrder(t *testing.T) {
	type inside struct {
		Last  int    `json:"last" order:"1"`
		First string `json:"first"`
	}
	type outside struct {
		Last   int    `json:"last" order:"2"`
		Middle inside `json:"middle" order:"1"`
		First  int    `json:"first"`
	}
	ordered := Of[outside]()
	one := outside{Last: 4, Middle: inside{Last: 3, First: "<"}, First: 1}
	const want = `{"first":1,"middle":{"first":"\u003c","last":3},"last":4}`
	if got, err := ordered.Append(nil, &one); string(got) != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	for _, text := range []string{
		want, `{"last":4,"middle":{"last":3,"first":"<"},"first":1}`, `{"LAST":4,"middle":{"first":"<","last":3},"first":1}`,
	} {
		var got outside
		if err := ordered.Unmarshal([]byte(text), &got); got != one || err != nil {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
}

func FuzzAsEncodingJSON(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(hold)
}

// TestPointerOnly holds that a type is refused that encoding/json would write in two ways.
func TestPointerOnly(t *testing.T) {
	defer func() {
		if p := recover(); p == nil {
			t.Error("got a codec for a type with MarshalJSON of its pointer only")
		}
	}()
	Of[struct{ X pointerOnly }]()
}

type pointerOnly struct{}

func (*pointerOnly) MarshalJSON() ([]byte, error) { return nil, errors.New("not to be called") }

func BenchmarkCodec(b *testing.B) {
	data := []byte(`{"version":"v2","text":"cam-1","state":"UP","n":1795246925123,"texts":["a","b"],"dicts":{"http":{"address":"127.0.0.1","port":"8080"}},` +
		`"parts":[{"a":"30s","b":false}],"part":null,"attr":null,"bytes":null,"time":"2026-01-02T03:04:05Z","later":{}}`)
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v everything
			_ = codec.Unmarshal(data, &v)
		}
	})
	b.Run("read by encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v everything
			_ = json.Unmarshal(data, &v)
		}
	})
}
