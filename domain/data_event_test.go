package domain

import (
	"reflect"
	"testing"
)

func TestAddDataEvent(t *testing.T) {
	reused := with(climate(), func(e *DataEventAdded) { e.Event.ID = otherID })
	twice := with(climate(), func(e *DataEventAdded) { e.Readings = append(e.Readings[:1:1], e.Readings[0]) })
	spaced := with(climate(), func(e *DataEventAdded) {
		e.Readings = e.Readings[1:2:2]
		e.Readings[0].Object, e.Event.Tags = []byte(`{ "fan": "on" }`), []byte(`{ "site": "north" }`)
	})
	runDecisions(t, []decision{
		{name: "new", when: AddDataEvent{climate()}, want: climate()},
		{name: "wrong in itself", when: AddDataEvent{with(climate(), func(e *DataEventAdded) { e.Event.Origin = 0 })}, code: Invalid, says: "origin"},
		{name: "id taken", given: []Event{climate()}, when: AddDataEvent{climate()}, code: Conflict, says: noticeID},
		{name: "reading's id taken", given: []Event{climate()}, when: AddDataEvent{reused}, code: Conflict, says: climate().Readings[0].ID},
		{name: "reading's id twice", when: AddDataEvent{twice}, code: Conflict, says: "exists already"},
		{name: "spaces", when: AddDataEvent{spaced}, want: with(climate(), func(e *DataEventAdded) { e.Readings = e.Readings[1:2:2] })},
	})
}

func TestRemoveDataEvent(t *testing.T) {
	runDecisions(t, []decision{
		{name: "there", given: []Event{climate()}, when: RemoveDataEvent{noticeID}, want: DataEventsRemoved{Events: []string{noticeID}}},
		{name: "not there", when: RemoveDataEvent{noticeID}, code: NotFound, says: "does not exist"},
	})
	s := given(climate(), picture(), DataEventsRemoved{Events: []string{noticeID, "none"}})
	if n, m := len(s.DataEvents.(MapTable[DataEvent])), len(s.Readings.(MapTable[Reading])); n != 1 || m != 1 {
		t.Errorf("left: %d events, %d readings, want the picture", n, m)
	}
}

func TestDataEventAddedEvolves(t *testing.T) {
	for how, e := range map[string]Event{"live": climate(), "from the log": reread(t, climate())} {
		s := given(e)
		d, _ := s.DataEvents.Get(noticeID)
		var texts []string
		for _, id := range d.Readings {
			r, _ := s.Readings.Get(id)
			texts = append(texts, r.Text)
		}
		if want := []string{"2.150000e+01", `{"fan":"on"}`, ""}; !reflect.DeepEqual(texts, want) || d.Size != 26 {
			t.Errorf("%s: got %q of %+v", how, texts, d)
		}
	}
}

func TestValueIn(t *testing.T) {
	e := climate()
	for i, want := range []string{"2.150000e+01", `{"fan":"on"}`, "\xff\xd8\xff\xd9"} {
		if got, ok := ValueIn(e, e.Readings[i].ID); !ok || string(got) != want {
			t.Errorf("%d: got %q, %t", i, got, ok)
		}
	}
	e.Readings[2].Digest = "9f"
	if _, ok := ValueIn(e, e.Readings[2].ID); ok {
		t.Error("a value that is a file was found on the log")
	}
	if got, ok := ValueIn(picture(), otherID); !ok || len(got) != 4 {
		t.Errorf("picture: got %q, %t", got, ok)
	}
	if _, ok := ValueIn(picture(), noticeID); ok {
		t.Error("found a reading that is not there")
	}
}
