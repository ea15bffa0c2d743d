package projections

import (
	"slices"
	"testing"

	"ledge/domain"
)

// Whatever is added to a table or changed in it, or in the type of its rows, is another schema.
func TestSchemaNamesTheLayout(t *testing.T) {
	kindOf := func(change func(*kind[domain.Reading])) []stored {
		k := *readings
		k.shift = 40
		k.indexes = slices.Clone(k.indexes)
		change(&k)
		return []stored{dataEvents, &k, cleanups, answers, answerOrder}
	}
	names := map[string]string{}
	for what, tables := range map[string][]stored{
		"as it is":     kindOf(func(*kind[domain.Reading]) {}),
		"table id":     kindOf(func(k *kind[domain.Reading]) { k.id++ }),
		"table name":   kindOf(func(k *kind[domain.Reading]) { k.name += "s" }),
		"index added":  kindOf(func(k *kind[domain.Reading]) { k.indexes = append(k.indexes, index[domain.Reading]{id: 0x7f}) }),
		"index gone":   kindOf(func(k *kind[domain.Reading]) { k.indexes = k.indexes[1:] }),
		"index id":     kindOf(func(k *kind[domain.Reading]) { k.indexes[1].id++ }),
		"index name":   kindOf(func(k *kind[domain.Reading]) { k.indexes[1].name += "s" }),
		"index values": kindOf(func(k *kind[domain.Reading]) { k.indexes[1].values = nil }),
		"index time":   kindOf(func(k *kind[domain.Reading]) { k.indexes[1].at = k.indexes[0].at }),
		"row":          kindOf(func(k *kind[domain.Reading]) { k.row = nil }),
		"buckets":      kindOf(func(k *kind[domain.Reading]) { k.shift = 0 }),
		"weight":       kindOf(func(k *kind[domain.Reading]) { k.weigh = func(domain.Reading) int64 { return 1 } }),
		"table added":  {readings, seeds},
		"order":        {seeds, readings},
		"type":         {rowsOfID()},
		"field's name": {rowsOfKey()},
		"field's tag":  {rowsOfTagged()},
		"field's type": {rowsOfNumber()},
	} {
		name := schemaName("readings", tables)
		if same, taken := names[name]; taken {
			t.Errorf("%s and %s are both %q", what, same, name)
		}
		names[name] = what
	}
	if got, want := schemaOf(Readings), schemaName("readings", []stored{dataEvents, readings, cleanups, answers, answerOrder}); got != want || names[got] != "as it is" {
		t.Errorf("got %q, want %q", got, want)
	}
}

func rowsOfID() stored {
	type row struct{ ID string }
	return &kind[row]{id: readingsID, name: "readings"}
}

func rowsOfKey() stored {
	type row struct{ Key string }
	return &kind[row]{id: readingsID, name: "readings"}
}

func rowsOfTagged() stored {
	type row struct {
		ID string `json:"id"`
	}
	return &kind[row]{id: readingsID, name: "readings"}
}

func rowsOfNumber() stored {
	type row struct{ ID int }
	return &kind[row]{id: readingsID, name: "readings"}
}
