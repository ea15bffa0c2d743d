package fastjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
)

// Append appends what json.Marshal makes of a value. After an error, dst is as it was.
func (c Codec[T]) Append(dst []byte, v *T) ([]byte, error) {
	return appendWhole(dst, c.plan, reflect.ValueOf(v).Elem())
}

func appendWhole(dst []byte, p *plan, v reflect.Value) ([]byte, error) {
	out, err := appendValue(dst, p, v)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// Writer encodes values of one type that is known as a reflect.Type only. Several goroutines may use it at once.
type Writer struct{ plan *plan }

// WriterOf returns the writer of a type; it panics where [Of] does.
func WriterOf(t reflect.Type) Writer { return Writer{planOf(t, nil)} }

// Append appends what json.Marshal makes of v, which is of the writer's type. After an error, dst is as it was.
func (w Writer) Append(dst []byte, v any) ([]byte, error) {
	held := reflect.New(w.plan.typ).Elem()
	held.Set(reflect.ValueOf(v))
	return appendWhole(dst, w.plan, held)
}

func appendValue(dst []byte, p *plan, v reflect.Value) ([]byte, error) {
	switch p.how {
	case text:
		return appendText(dst, v.String())
	case flag:
		return strconv.AppendBool(dst, v.Bool()), nil
	case signed:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case number:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	case object:
		return appendObject(dst, p, v)
	case raw:
		return appendRaw(dst, v.Bytes())
	case other:
		return appendOther(dst, v.Interface())
	}
	if v.IsNil() {
		return append(dst, "null"...), nil
	}
	switch p.how {
	case texts:
		return appendList(dst, *v.Addr().Interface().(*[]string), appendText)
	case dict:
		return appendDict(dst, *v.Addr().Interface().(*map[string]string), appendText)
	case dicts:
		return appendDict(dst, *v.Addr().Interface().(*map[string]map[string]string), appendInner)
	case members:
		return appendMembers(dst, p, v)
	case pointer:
		return appendValue(dst, p.elem, v.Elem())
	}
	var err error
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, p.elem, v.Index(i)); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, p *plan, v reflect.Value) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for i := range p.fields {
		f := &p.fields[i]
		at := f.of(v)
		if f.omit == empty && isEmpty(at) || f.omit == zero && at.IsZero() {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		var err error
		if dst, err = appendValue(append(dst, f.key...), f.plan, at); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// isEmpty is what encoding/json calls empty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}

func appendList[S any](dst []byte, list []S, one func([]byte, S) ([]byte, error)) ([]byte, error) {
	var err error
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = one(dst, s); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendDict appends the entries of a map by their keys.
func appendDict[S any](dst []byte, m map[string]S, one func([]byte, S) ([]byte, error)) ([]byte, error) {
	keys := make([]string, 0, 8)
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var err error
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendText(dst, key); err != nil {
			return nil, err
		}
		if dst, err = one(append(dst, ':'), m[key]); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendMembers is appendDict of any map.
func appendMembers(dst []byte, p *plan, v reflect.Value) ([]byte, error) {
	all := make(map[string]reflect.Value, v.Len())
	for it := v.MapRange(); it.Next(); {
		member := reflect.New(p.typ.Elem()).Elem()
		member.Set(it.Value())
		all[it.Key().String()] = member
	}
	return appendDict(dst, all, func(dst []byte, member reflect.Value) ([]byte, error) { return appendValue(dst, p.elem, member) })
}

func appendInner(dst []byte, m map[string]string) ([]byte, error) {
	if m == nil {
		return append(dst, "null"...), nil
	}
	return appendDict(dst, m, appendText)
}

func appendText(dst []byte, s string) ([]byte, error) {
	from, done := len(dst), 0
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case plain[c]:
		case c == '"' || c == '\\':
			dst = append(append(dst, s[done:i]...), '\\')
			done = i
		default:
			return appendOther(dst[:from], s)
		}
	}
	return append(append(dst, s[done:]...), '"'), nil
}

func appendRaw(dst, value []byte) ([]byte, error) {
	if !Verbatim(value) || !isString(value) && !json.Valid(value) {
		return appendOther(dst, json.RawMessage(value))
	}
	return append(dst, value...), nil
}

// isString reports whether a text without escapes is one string.
func isString(value []byte) bool {
	return len(value) > 1 && value[0] == '"' && bytes.IndexByte(value[1:], '"') == len(value)-2
}

// verbatimDepth is how deep a value may be that is certainly read back, whoever reads it.
const verbatimDepth = 64

// Verbatim reports whether a json.RawMessage that holds valid JSON is written byte by byte as it is, and read back as the same
// bytes: it is printable ASCII without escapes, has spaces within texts only, and is not deep. False says nothing.
func Verbatim(value []byte) bool {
	inText, deep := false, 0
	for _, c := range value {
		switch {
		case c == '"':
			inText = !inText
		case !plain[c] || c == ' ' && !inText:
			return false
		case c == '{' || c == '[':
			deep++
		}
	}
	return deep <= verbatimDepth
}

func appendOther(dst []byte, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(dst, b...), nil
}
