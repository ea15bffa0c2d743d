package history

import (
	"fmt"

	"ledge/domain"
)

// entityFrom returns the entity after an event. before is the entity before it; nil if that is not known.
func (e *record[T]) entityFrom(before any) any {
	switch entity, known := before.(T); {
	case e.verb == Removed:
		return nil
	case e.update == nil:
		return e.entity
	case known:
		return domain.After(*e.update, entity)
	}
	return nil
}

// patch returns the update if the event has only the changed fields, otherwise nil.
func (e *record[T]) patch() *domain.Update { return e.update }

// hasModified reports whether the entity before an event has its modified time.
func (e *record[T]) hasModified() bool {
	return e.verb != Updated || e.before != nil
}

// changeBytes is about the memory of a change without its values.
const changeBytes = 300

// size returns about the bytes of memory that an event takes.
func (e *record[T]) size() int {
	if e.update != nil {
		return changeBytes + valuesSize(e.update.Changes)
	}
	return changeBytes + jsonSize(e.entity)
}

// valuesSize returns the bytes of the values of changes.
func valuesSize(in domain.Changes) (size int) {
	for name, d := range in {
		size += changeBytes + len(name) + len(d.Was) + len(d.Is) + valuesSize(d.In)
	}
	return size
}

func (k kind[T]) listName() string { return k.list }

func (k kind[T]) encode(entity any) ([]byte, error) {
	one, ok := entity.(T)
	if !ok {
		return nil, fmt.Errorf("a %s of type %T", k.name, entity)
	}
	return k.codec.Append(nil, &one)
}

func (k kind[T]) decode(text []byte) (any, error) {
	var entity T
	err := k.codec.Unmarshal(text, &entity)
	return entity, err
}
