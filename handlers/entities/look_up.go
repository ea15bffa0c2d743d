package entities

import (
	"ledge/domain"
	"ledge/handlers/answers"
)

// HoldFor waits for the memory that an entity takes, if it is large.
func HoldFor[S any](memory *answers.Memory, state Reader, table func(domain.State) domain.Table[S], key func(domain.State) string) error {
	if row := look(state, table, key, answers.LargeBytes, new(S)); row.Size > answers.LargeBytes {
		return memory.Hold(int64(row.Size))
	}
	return nil
}

func look[S any](state Reader, table func(domain.State) domain.Table[S], key func(domain.State) string, most int, into *S) domain.Row {
	view, done := state()
	defer done()
	return domain.GetWithin(table(view.State), key(view.State), most, into)
}

// LookUp reads an entity into a zero value. One that is large is read once there is memory for it.
func LookUp[S any](memory *answers.Memory, state Reader, table func(domain.State) domain.Table[S], key string, into *S) (domain.Row, error) {
	for most := answers.LargeBytes; ; {
		row := look(state, table, func(domain.State) string { return key }, most, into)
		if row.Size <= most {
			return row, nil
		}
		if err := memory.Hold(int64(row.Size)); err != nil { // no view is open while it waits
			return row, err
		}
		most = row.Size
	}
}
