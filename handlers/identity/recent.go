package identity

import "container/list"

// recent is a bounded map. For one entry more it evicts the one that was not put for longest.
type recent[V any] struct {
	most    int
	order   *list.List // of *entry[V], the latest put first
	entries map[string]*list.Element
}

type entry[V any] struct {
	key   string
	value V
}

func newRecent[V any](most int) *recent[V] {
	return &recent[V]{most, list.New(), map[string]*list.Element{}}
}

func (r *recent[V]) get(key string) (value V, ok bool) {
	if e, ok := r.entries[key]; ok {
		return e.Value.(*entry[V]).value, true
	}
	return value, false
}

func (r *recent[V]) put(key string, value V) {
	if e, ok := r.entries[key]; ok {
		e.Value.(*entry[V]).value = value
		r.order.MoveToFront(e)
		return
	}
	if len(r.entries) == r.most {
		oldest := r.order.Back()
		delete(r.entries, oldest.Value.(*entry[V]).key)
		r.order.Remove(oldest)
	}
	r.entries[key] = r.order.PushFront(&entry[V]{key, value})
}

func (r *recent[V]) remove(key string) {
	if e, ok := r.entries[key]; ok {
		r.order.Remove(e)
		delete(r.entries, key)
	}
}
