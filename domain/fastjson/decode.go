package fastjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

const (
	// mostShared is the longest text of which the strings of a value are parts: each of them keeps all of it in memory. The strings of
	// a longer text are copies.
	mostShared = 1 << 20
	// mostOther is the longest value in it that is left to encoding/json. It is less than the depth at which that refuses,
	// so that no value is refused for what is around it.
	mostOther = 8 << 10
)

// Unmarshal is that of encoding/json into a zero value.
func (c Codec[T]) Unmarshal(data []byte, v *T) error {
	return unmarshal(c.plan, data, reflect.ValueOf(v).Elem(), json.Unmarshal)
}

// UnmarshalKnown is Unmarshal, and refuses a field that the type has not with an [UnknownFieldError].
func (c Codec[T]) UnmarshalKnown(data []byte, v *T) error {
	return unmarshal(c.plan, data, reflect.ValueOf(v).Elem(), UnmarshalKnown)
}

// Reader decodes values of one type that is known as a reflect.Type only. Several goroutines may use it at once.
type Reader struct{ plan *plan }

// ReaderOf returns the reader of a type; it panics if [Of] does.
func ReaderOf(t reflect.Type) Reader { return Reader{planOf(t, nil)} }

// Unmarshal does what json.Unmarshal does. v is zero, settable and of the reader's type.
func (r Reader) Unmarshal(data []byte, v reflect.Value) error {
	return unmarshal(r.plan, data, v, json.Unmarshal)
}

func unmarshal(p *plan, data []byte, v reflect.Value, rest func([]byte, any) error) error {
	d := decoder{text: string(data), rest: rest}
	if d.space(); d.value(p, v) {
		if d.space(); d.at == len(d.text) {
			return nil
		}
	}
	v.SetZero()
	return rest(data, v.Addr().Interface())
}

// UnknownFieldError says that an object has a field that its type has not.
type UnknownFieldError struct{ Name string }

// Error implements error.
func (e UnknownFieldError) Error() string { return fmt.Sprintf("json: unknown field %q", e.Name) }

// Unmarshal is [json.Unmarshal] into a zero value, and quick if that is a string without escapes.
func Unmarshal(data []byte, v any) error {
	if s, ok := v.(*string); ok && isString(data) && Verbatim(data) {
		*s = string(data[1 : len(data)-1])
		return nil
	}
	return json.Unmarshal(data, v)
}

// UnmarshalKnown is [json.Unmarshal], and refuses a field that the type of v has not with an [UnknownFieldError].
func UnmarshalKnown(data []byte, v any) error {
	if _, ok := v.(*string); ok || bytes.IndexByte(data, '{') < 0 {
		return Unmarshal(data, v)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if name, ok := strings.CutPrefix(fmt.Sprint(err), "json: unknown field "); ok {
		return UnknownFieldError{strings.Trim(name, `"`)}
	}
	if err != nil || len(bytes.TrimSpace(data[d.InputOffset():])) > 0 {
		return json.Unmarshal(data, v) // whose errors are better
	}
	return nil
}

// decoder reads a text. Its methods return false where the text is none for us; a value may then be one for rest.
type decoder struct {
	text string
	at   int
	rest func([]byte, any) error
}

func (d *decoder) space() {
	for d.at < len(d.text) && d.text[d.at] <= ' ' && strings.IndexByte(" \t\r\n", d.text[d.at]) >= 0 {
		d.at++
	}
}

// take takes one character, if it is next.
func (d *decoder) take(c byte) bool {
	if d.at < len(d.text) && d.text[d.at] == c {
		d.at++
		return true
	}
	return false
}

func (d *decoder) word(w string) bool {
	if strings.HasPrefix(d.text[d.at:], w) {
		d.at += len(w)
		return true
	}
	return false
}

// more goes on to the next entry of a list or an object: false at its end, which ok tells from a fault.
func (d *decoder) more(end byte) (more, ok bool) {
	d.space()
	if d.take(',') {
		d.space()
		return true, true
	}
	return false, d.take(end)
}

// value reads a value into v, which is zero.
func (d *decoder) value(p *plan, v reflect.Value) bool {
	if p.how != raw && p.how != other && d.word("null") {
		return true
	}
	switch p.how {
	case text:
		s, ok := d.string()
		v.SetString(s)
		return ok
	case flag:
		on := d.word("true")
		v.SetBool(on)
		return on || d.word("false")
	case signed:
		n, ok := d.integer()
		v.SetInt(n)
		return ok && !v.OverflowInt(n)
	case number:
		n, ok := d.integer()
		v.SetUint(uint64(n))
		return ok && n >= 0 && !v.OverflowUint(uint64(n))
	case raw:
		return d.raw(v.Addr().Interface().(*json.RawMessage))
	case texts:
		return d.texts(v.Addr().Interface().(*[]string))
	case dict:
		return d.dict(v.Addr().Interface().(*map[string]string))
	case dicts:
		return d.dicts(v.Addr().Interface().(*map[string]map[string]string))
	case list:
		return d.list(p, v)
	case members:
		return d.members(p, v)
	case pointer:
		v.Set(reflect.New(p.typ.Elem()))
		return d.value(p.elem, v.Elem())
	case object:
		return d.object(p, v)
	}
	token, ok := d.token()
	return ok && d.rest(token, v.Addr().Interface()) == nil
}

func (d *decoder) object(p *plan, v reflect.Value) bool {
	if !d.take('{') {
		return false
	}
	if d.space(); d.take('}') {
		return true
	}
	var seen uint64
	for next, more := 0, true; more; {
		n, ok := d.key(p, next)
		if !ok || seen>>n&1 == 1 {
			return false
		}
		seen |= 1 << n
		next = n + 1
		f := &p.fields[n]
		if d.space(); !d.value(f.plan, f.of(v)) {
			return false
		}
		if more, ok = d.more('}'); !ok {
			return false
		}
	}
	return true
}

// key reads a key and its colon and returns the place of its field, which most likely is next.
func (d *decoder) key(p *plan, next int) (n int, ok bool) {
	if next < len(p.fields) && d.word(p.fields[next].key) {
		return next, true
	}
	name, ok := d.string()
	d.space()
	if !ok || !d.take(':') {
		return 0, false
	}
	n, ok = p.place[name]
	return n, ok
}

func (d *decoder) list(p *plan, v reflect.Value) bool {
	if !d.take('[') {
		return false
	}
	v.Set(reflect.MakeSlice(p.typ, 0, 1))
	if d.space(); d.take(']') {
		return true
	}
	for more := true; more; {
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		if !d.value(p.elem, v.Index(n)) {
			return false
		}
		var ok bool
		if more, ok = d.more(']'); !ok {
			return false
		}
	}
	return true
}

func (d *decoder) texts(v *[]string) bool {
	if !d.take('[') {
		return false
	}
	*v = make([]string, 0, 2)
	if d.space(); d.take(']') {
		return true
	}
	for more := true; more; {
		s, ok := d.string()
		if !ok {
			return false
		}
		*v = append(*v, s)
		if more, ok = d.more(']'); !ok {
			return false
		}
	}
	return true
}

func (d *decoder) dict(v *map[string]string) bool {
	*v = map[string]string{}
	return d.entries(func(key string) bool {
		s, ok := d.string()
		(*v)[key] = s
		return ok
	})
}

func (d *decoder) dicts(v *map[string]map[string]string) bool {
	*v = map[string]map[string]string{}
	return d.entries(func(key string) bool {
		var inner map[string]string
		ok := d.dict(&inner)
		(*v)[key] = inner
		return ok
	})
}

func (d *decoder) members(p *plan, v reflect.Value) bool {
	v.Set(reflect.MakeMap(p.typ))
	return d.entries(func(key string) bool {
		member := reflect.New(p.typ.Elem()).Elem()
		ok := d.value(p.elem, member)
		v.SetMapIndex(reflect.ValueOf(key), member)
		return ok
	})
}

// entries reads an object of which any key may be: value reads the value of one.
func (d *decoder) entries(value func(key string) bool) bool {
	if !d.take('{') {
		return false
	}
	if d.space(); d.take('}') {
		return true
	}
	for more := true; more; {
		key, ok := d.string()
		if d.space(); !ok || !d.take(':') {
			return false
		}
		if d.space(); !value(key) {
			return false
		}
		if more, ok = d.more('}'); !ok {
			return false
		}
	}
	return true
}

// integer reads a whole number of at most 18 digits.
func (d *decoder) integer() (n int64, ok bool) {
	minus := d.take('-')
	from := d.at
	for d.at < len(d.text) && d.text[d.at]-'0' <= 9 {
		n = 10*n + int64(d.text[d.at]-'0')
		d.at++
	}
	digits := d.at - from
	if digits == 0 || digits > 18 || digits > 1 && d.text[from] == '0' {
		return 0, false
	}
	if minus {
		n = -n
	}
	return n, true
}

func (d *decoder) string() (s string, ok bool) {
	if !d.take('"') {
		return "", false
	}
	from := d.at
	if s, ok = d.usual(); !ok {
		d.at = from - 1
		return d.unusual()
	}
	if len(d.text) > mostShared {
		s = strings.Clone(s)
	}
	return s, true
}

// usual reads the rest of a string that is all ASCII without escapes.
func (d *decoder) usual() (s string, ok bool) {
	from := d.at
	for d.at < len(d.text) && inString[d.text[d.at]] {
		d.at++
	}
	return d.text[from:d.at], d.take('"')
}

// raw reads a value as it is. Only a string may be longer than mostOther.
func (d *decoder) raw(v *json.RawMessage) (ok bool) {
	from := d.at
	if d.take('"') {
		if _, ok = d.usual(); ok {
			*v = []byte(d.text[from:d.at])
			return true
		}
		d.at = from
	}
	*v, ok = d.token()
	return ok && json.Valid(*v)
}

// unusual reads a string that is not all ASCII, or has escapes.
func (d *decoder) unusual() (s string, ok bool) {
	token, ok := d.token()
	if !ok || json.Unmarshal(token, &s) != nil {
		return "", false
	}
	return s, true
}

// inString are the characters of a string that stand for themselves, less those beyond ASCII.
var inString = func() (is [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// token returns a value without a look at whether it is one; whoever reads it finds that.
func (d *decoder) token() (token []byte, ok bool) {
	from, depth := d.at, 0
	for ; d.at < len(d.text) && d.at-from <= mostOther; d.at++ {
		switch d.text[d.at] {
		case '"':
			for d.at++; d.at < len(d.text) && d.text[d.at] != '"'; d.at++ {
				if d.text[d.at] == '\\' {
					d.at++
				}
			}
			if d.at >= len(d.text) {
				return nil, false
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ',', ' ', '\t', '\r', '\n':
			if depth > 0 {
				continue
			}
			depth-- // it is behind the value
		default:
			continue
		}
		switch {
		case depth == 0: // the value's last character
			d.at++
			return []byte(d.text[from:d.at]), true
		case depth < 0:
			return []byte(d.text[from:d.at]), true
		}
	}
	return nil, false
}
