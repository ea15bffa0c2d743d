package fold

import (
	"reflect"
	"slices"
	"testing"
)

// Whatever is added to a table or changed in it, or in the type of its rows, is another schema.
func TestSchemaNamesTheLayout(t *testing.T) {
	with := func(change func(*Table[part])) []AnyTable {
		t := *parts
		t.Indexes = slices.Clone(t.Indexes)
		change(&t)
		return []AnyTable{things, &t, numbers}
	}
	names := map[string]string{}
	for what, tables := range map[string][]AnyTable{
		"as it is":     with(func(*Table[part]) {}),
		"table id":     with(func(t *Table[part]) { t.ID++ }),
		"table name":   with(func(t *Table[part]) { t.Name += "s" }),
		"index added":  with(func(t *Table[part]) { t.Indexes = append(t.Indexes, Index[part]{ID: 0x7f}) }),
		"index gone":   with(func(t *Table[part]) { t.Indexes = t.Indexes[1:] }),
		"index id":     with(func(t *Table[part]) { t.Indexes[1].ID++ }),
		"index name":   with(func(t *Table[part]) { t.Indexes[1].Name += "s" }),
		"index values": with(func(t *Table[part]) { t.Indexes[1].Values = nil }),
		"index time":   with(func(t *Table[part]) { t.Indexes[1].At = t.Indexes[0].At }),
		"row":          with(func(t *Table[part]) { t.Row = reflect.TypeFor[int]() }),
		"buckets":      with(func(t *Table[part]) { t.Shift = 0 }),
		"weight":       with(func(t *Table[part]) { t.Weigh = nil }),
		"table added":  {parts, numbers},
		"order":        {numbers, parts},
		"type":         {rowsOfID()},
		"field's name": {rowsOfKey()},
		"field's tag":  {rowsOfTagged()},
		"field's type": {rowsOfNumber()},
		"a kind":       {&Table[ofKinds]{ID: parts.ID, Name: "parts"}},
		"two kinds":    {&Table[ofKinds]{ID: parts.ID, Name: "parts"}},
	} {
		knownKinds = map[string]string{"a kind": "a", "two kinds": "a b"}[what]
		name := schemaName("tests", tables)
		if same, taken := names[name]; taken {
			t.Errorf("%s and %s are both %q", what, same, name)
		}
		names[name] = what
	}
}

// ofKinds are values of the kinds that knownKinds names.
type ofKinds struct{}

var knownKinds string

func (ofKinds) Layout() string { return knownKinds }

func rowsOfID() AnyTable {
	type row struct{ ID string }
	return &Table[row]{ID: parts.ID, Name: "parts"}
}

func rowsOfKey() AnyTable {
	type row struct{ Key string }
	return &Table[row]{ID: parts.ID, Name: "parts"}
}

func rowsOfTagged() AnyTable {
	type row struct {
		ID string `json:"id"`
	}
	return &Table[row]{ID: parts.ID, Name: "parts"}
}

func rowsOfNumber() AnyTable {
	type row struct{ ID int }
	return &Table[row]{ID: parts.ID, Name: "parts"}
}
