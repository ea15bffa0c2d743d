package domain

import (
	"fmt"
	"reflect"
	"testing"
)

// recorded folds events into a state that knows their sequences, from 1 on.
func recorded(events ...Event) State {
	var seq uint64
	s := OverlayAt(NewMapState(), &seq)
	for _, e := range events {
		seq++
		e.Evolve(s)
	}
	return s
}

// changes are all changes of what everything adds, and the revision that each is of there.
func changes() map[uint64][]Change {
	const image, rest, cam, find, sub, note, data, token, user = 1, 2, 3, 4, 5, 6, 9, 11, 12
	return map[uint64][]Change{
		image: {
			replaceImage(func(p *Profile) { p.Model = "m-2" }), replaceImage(func(p *Profile) { p.Name, p.Model = "", "m-2" }), RemoveProfile{"image"},
			UpdateProfileInfo{PatchOf[Profile]("name", "image", "model", "m-2"), later},
			UpdateProfileInfo{PatchOf[Profile]("id", profileID, "model", "m-2"), later},
			AddDeviceResource{"image", pan(), later}, RemoveDeviceResource{"image", "jpeg", later},
			UpdateDeviceResource{"image", ResourcePatch{Name: new("jpeg"), IsHidden: new(true)}, later},
			AddDeviceCommand{"image", turn(), later}, RemoveDeviceCommand{"image", "adjust", later},
			UpdateDeviceCommand{"image", CommandPatch{Name: new("adjust"), IsHidden: new(true)}, later},
		},
		rest: {patchService("labels", []string{"rest"}), patchService(), RemoveService{DeviceREST}},
		cam: {
			patchCamera("labels", []string{"outdoor"}), RemoveDevice{"cam-1"},
			UpdateDevice{PatchOf[Device]("id", cameraID, "labels", []string{"outdoor"}), later, ""},
			patchCamera("profileName", "none"),
		},
		find:  {patchFinder("labels", []string{"lb"}), RemoveWatcher{"finder"}},
		note:  {AcknowledgeNotifications{IDs: []string{noticeID}, Acknowledged: true, At: later}, RemoveNotifications{[]Removal{{ID: noticeID, Revision: note}}}},
		sub:   {patchGate("labels", []string{"fire"}), RemoveSubscription{"gate"}},
		token: {RotateToken{"pos-7", "c-9", later, created}, RemoveToken{"pos-7"}},
		user:  {ChangeUser{"ben", Operator, later}, SetPassword{"ben", "c-3", true, later}, RemoveUser{"ben"}},
		data:  {RemoveDataEvent{noticeID}},
	}
}

func TestIfMatch(t *testing.T) {
	for revision, list := range changes() {
		for _, change := range list {
			t.Run(fmt.Sprintf("%T", change), func(t *testing.T) {
				s := recorded(everything()...)
				for _, c := range []IfMatch{
					{Change: change, Revisions: []uint64{revision}}, {Change: change, Revisions: []uint64{99, revision}}, {Change: change, Any: true},
				} {
					wantSame(t, c, s, change, s)
				}
				for _, c := range []IfMatch{{Change: change}, {Change: change, Revisions: []uint64{revision + 1, 0}}} {
					event, err := c.Decide(s)
					wantRefusal(t, event, err, Stale, fmt.Sprintf(`has the ETag "%d" now, which If-Match does not name; read it again`, revision))
				}
			})
		}
	}
}

// Where there is nothing to match, a change is refused as it is without a condition.
func TestIfMatchOfNothing(t *testing.T) {
	for _, list := range changes() {
		for _, change := range list {
			for _, c := range []IfMatch{{Change: change, Any: true}, {Change: change, Revisions: []uint64{1, 2, 3, 4, 5, 6}}} {
				wantSame(t, c, recorded(), change, given())
			}
		}
	}
	other := patchCamera("id", otherID)
	wantSame(t, IfMatch{Change: other}, recorded(everything()...), other, given(everything()...))
}

// wantSame holds that c makes of s what change makes of its own state, which is an event, nothing or a refusal.
func wantSame(t *testing.T, c IfMatch, s State, change Change, own State) {
	t.Helper()
	got, err := c.Decide(s)
	want, wantErr := change.Decide(own)
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(err, wantErr) {
		t.Errorf("%+v: got %+v, %v, want %+v, %v", c, got, err, want, wantErr)
	}
}

// Every command that names one entity that is there can be made conditional.
func TestEveryChangeIsTried(t *testing.T) {
	var have []string
	for _, list := range changes() {
		for _, c := range list {
			have = append(have, reflect.TypeOf(c).Name())
		}
	}
	wantAll(t, "changes in if_match_test.go", have, receivers(t, "target"))
	for _, c := range commands() {
		switch c := c.(type) {
		case AddProfile, AddService, AddDevice, AddWatcher, AddSubscription, AddNotification, AddDataEvent, AddUser, AddToken: // nothing is there
		case RequestCleanup, SetRetention: // of no one entity
		case RaiseNotifications, ProcessNotification, RecordTry, CleanUp, FinishCleanup, RecordCallbacks, RecordReplay, RecordCommand, RecordAnswer, SeedSamples,
			PostReading, ResendTransmissions: // no client's
		case IfMatch, Refuse, Recall: // of whatever
		default:
			if _, ok := c.(Change); !ok {
				t.Errorf("%T is no Change: give it a target", c)
			}
		}
	}
}

// A name has another revision after every event of it, also after it was gone, and it does not matter which changes
// are pending.
func TestRevision(t *testing.T) {
	moved := with(camera(), func(d *Device) { d.Labels = []string{"yard"} })
	events := append(
		onboarded(), DeviceUpdated{Device: moved}, DeviceRemoved{Device: moved}, DeviceAdded{Device: camera()}, WatcherAdded{Watcher: finder()},
	)
	want := []uint64{0, 0, 0, 3, 4, 0, 6, 6}
	for n := range want {
		for pending := range n + 1 {
			seq := uint64(n - pending)
			s := OverlayAt(recorded(events[:n-pending]...), &seq)
			for _, e := range events[n-pending : n] {
				seq++
				e.Evolve(s)
			}
			if got := Revision(s.Devices, "cam-1"); got != want[n] {
				t.Errorf("after %d events, %d of them pending: got revision %d, want %d", n, pending, got, want[n])
			}
		}
	}
	if got := Revision(given(onboarded()...).Devices, "cam-1"); got != 0 {
		t.Errorf("a map: got revision %d, want 0", got)
	}
}
