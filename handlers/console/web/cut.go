package web

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Cutter copies entities for pages, and leaves out what is too much for one. A copy shares no text with the entity, so that the entity
// does not stay in memory.
type Cutter struct {
	Entries int // the most of each list and mapping
	Text    int // the most bytes of each text
	Room    int // the most bytes of all that is copied

	more bool     // the last entry of a list of texts that is cut says how many there are more
	left []string // what the copies leave out, in words
}

// The bounds of what a page shows of an entity, and of what a list shows of each entity.
const (
	shownEntries = 50
	ShownText    = 20_000
	ShownBytes   = 64 << 10
	RowEntries   = 20
	RowText      = 200
	RowBytes     = 8 << 10
)

// ForPage returns a cutter for the page of an entity.
func ForPage() *Cutter { return &Cutter{Entries: shownEntries, Text: ShownText, Room: ShownBytes} }

// CutRow returns what a row of a list shows of an entity.
func CutRow[S any](s *S) S {
	return Cut(&Cutter{Entries: RowEntries, Text: RowText, Room: RowBytes, more: true}, s)
}

// Cut returns a copy of an entity within the bounds of k, which notes what that leaves out.
func Cut[S any](k *Cutter, s *S) (copied S) {
	k.copy(reflect.ValueOf(&copied).Elem(), reflect.ValueOf(s).Elem(), "")
	return copied
}

// Note is a sentence about what is left out; "" for nothing. path is where the API has all of it.
func (k *Cutter) Note(path string) string {
	if len(k.left) == 0 {
		return ""
	}
	return fmt.Sprintf("This page leaves out %s. All of it is at %s.", strings.Join(k.left, ", "), path)
}

// entrySize is what an entry counts beside its texts, in bytes.
const entrySize = 32

// copy copies what is there at a path into a zero value.
func (k *Cutter) copy(to, from reflect.Value, path string) {
	switch from.Kind() {
	case reflect.String:
		to.SetString(k.copyText(from.String(), path))
	case reflect.Struct:
		for i := range from.NumField() {
			if !from.Type().Field(i).IsExported() {
				continue
			}
			name, _, _ := strings.Cut(from.Type().Field(i).Tag.Get("json"), ",")
			k.copy(to.Field(i), from.Field(i), cmp.Or(strings.TrimPrefix(path+"."+name, "."), path))
		}
	case reflect.Slice:
		k.copyList(to, from, path)
	case reflect.Map:
		k.copyMap(to, from, path)
	case reflect.Interface:
		if !from.IsNil() {
			one := reflect.New(from.Elem().Type()).Elem()
			k.copy(one, from.Elem(), path)
			to.Set(one)
		}
	default:
		to.Set(from)
	}
}

func (k *Cutter) copyText(text, path string) string {
	if most := max(0, min(k.Text, k.Room)); len(text) > most {
		k.leave(len(text)-most, len(text), "bytes of "+path)
		text = CutText(text, most)
	}
	k.Room -= len(text)
	return strings.Clone(text)
}

func (k *Cutter) copyList(to, from reflect.Value, path string) {
	if from.IsNil() {
		return
	}
	if from.Type().Elem().Kind() == reflect.Uint8 { // a value in JSON
		to.SetBytes([]byte(k.copyText(string(from.Bytes()), path)))
		return
	}
	n := 0
	to.Set(reflect.MakeSlice(from.Type(), min(from.Len(), k.Entries), min(from.Len(), k.Entries)))
	for ; n < to.Len() && k.Room > 0; n++ {
		k.Room -= entrySize
		k.copy(to.Index(n), from.Index(n), path)
	}
	to.SetLen(n)
	if left := from.Len() - n; k.more && left > 0 && from.Type().Elem().Kind() == reflect.String {
		to.Set(reflect.Append(to, reflect.ValueOf(fmt.Sprintf("and %d more", left))))
	}
	k.leave(from.Len()-n, from.Len(), "entries of "+path)
}

func (k *Cutter) copyMap(to, from reflect.Value, path string) {
	if from.IsNil() {
		return
	}
	to.Set(reflect.MakeMap(from.Type()))
	keys := from.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	n := 0
	for ; n < min(len(keys), k.Entries) && k.Room > 0; n++ {
		k.Room -= entrySize
		key, one := reflect.New(from.Type().Key()).Elem(), reflect.New(from.Type().Elem()).Elem()
		k.copy(key, keys[n], path)
		k.copy(one, from.MapIndex(keys[n]), path)
		to.SetMapIndex(key, one)
	}
	k.leave(len(keys)-n, len(keys), "entries of "+path)
}

// leave notes that so many of all are left out. Of many such notes the first ones are kept.
func (k *Cutter) leave(left, all int, what string) {
	if left > 0 && len(k.left) < RowEntries {
		k.left = append(k.left, fmt.Sprintf("%d of %d %s", left, all, what))
	}
}

// CutText is the begin of a text that is longer than most bytes.
func CutText(text string, most int) string { return strings.ToValidUTF8(text[:most], "") + "…" }

// Beginning returns a copy of a text, cut after so many bytes.
func Beginning(text string, most int) string {
	if len(text) <= most {
		return strings.Clone(text)
	}
	return CutText(text, most)
}

// MostExported is how many readings a file of CSV has at most, the newest ones.
const MostExported = 100_000

// ExportLabel is the text of a link to readings as CSV. It says so if the file leaves some out.
func ExportLabel(readings int) string {
	if readings > MostExported {
		return "CSV of the newest 100,000"
	}
	return "CSV"
}
