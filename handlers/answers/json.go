package answers

import (
	"reflect"
	"sync"

	"ledge/domain/fastjson"
)

// writers has the fastjson.Writer of each type of answers, by its reflect.Type.
var writers sync.Map

// AppendJSON appends an answer as JSON to dst. It panics if fastjson cannot encode the type.
func AppendJSON(dst []byte, answer any) ([]byte, error) {
	t := reflect.TypeOf(answer)
	if t == nil {
		return append(dst, "null"...), nil
	}
	w, ok := writers.Load(t)
	if !ok {
		w, _ = writers.LoadOrStore(t, fastjson.WriterOf(t))
	}
	return w.(fastjson.Writer).Append(dst, answer)
}
