package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"ledge/domain"
)

// TestCut cuts texts, lists and mappings of a device, and holds that a page can say what is left out, and that the copy shares nothing with the
// device.
func TestCut(t *testing.T) {
	labels := make([]string, 120)
	for i := range labels {
		labels[i] = fmt.Sprint("label-", i)
	}
	d := domain.Device{
		Name: "hall", Description: strings.Repeat("é", ShownText), Labels: labels, Location: json.RawMessage(`{"floor":1}`),
		Protocols: map[string]map[string]string{"rest": {"host": "a"}}, AutoEvents: []domain.AutoEvent{{Interval: "1s"}}, Created: 7,
	}
	k := ForPage()
	got := Cut(k, &d)
	want := "This page leaves out 20000 of 40000 bytes of description, 70 of 120 entries of labels. All of it is at /x."
	if note := k.Note("/x"); note != want {
		t.Errorf("note: %s", note)
	}
	if !slices.Equal(got.Labels, labels[:shownEntries]) || got.Protocols["rest"]["host"] != "a" || got.AutoEvents[0].Interval != "1s" || got.Created != 7 ||
		string(got.Location) != `{"floor":1}` || got.Description != strings.Repeat("é", ShownText/2)+"…" {
		t.Errorf("got %+v", got)
	}
	if unsafe.StringData(got.Name) == unsafe.StringData(d.Name) {
		t.Error("the copy has the text of the device")
	}
	if row := CutRow(&d); len(row.Labels) != RowEntries+1 || row.Labels[RowEntries] != "and 100 more" {
		t.Errorf("row: %q", row.Labels)
	}
	if k = ForPage(); k.Note("/x") != "" || Cut(k, &domain.Device{Name: "hall"}).Name != "hall" || k.Note("/x") != "" {
		t.Error("a small device is cut")
	}
}

// TestCutRoom cuts lists within lists to the bytes of all.
func TestCutRoom(t *testing.T) {
	protocols := map[string]map[string]string{}
	for i := range 40 {
		one := map[string]string{}
		for j := range 40 {
			one[fmt.Sprint(j)] = strings.Repeat("x", ShownText/2)
		}
		protocols[fmt.Sprint(i)] = one
	}
	k := ForPage()
	text, err := json.Marshal(Cut(k, &domain.Device{Protocols: protocols}))
	if err != nil || len(text) > 2*ShownBytes || !strings.Contains(k.Note("/x"), "entries of protocols") {
		t.Errorf("%d bytes, %s, %v", len(text), k.Note("/x"), err)
	}
}

func TestExportLabel(t *testing.T) {
	for readings, want := range map[int]string{0: "CSV", MostExported: "CSV", MostExported + 1: "CSV of the newest 100,000"} {
		if got := ExportLabel(readings); got != want {
			t.Errorf("%d readings: got %q, want %q", readings, got, want)
		}
	}
}
