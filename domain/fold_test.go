package domain

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"
)

// commands returns every kind of command, in forms that are accepted, refused and nothing to do, on a state with one of
// everything.
func commands() []Command {
	second := with(camera(), func(d *Device) { d.Name, d.ID = "cam-2", otherID })
	return []Command{
		AddProfile{imageProfile()}, addImage(func(p *Profile) { p.Name, p.ID = "video", otherID }), AddProfile{},
		RemoveProfile{"image"}, RemoveProfile{"video"}, RemoveProfile{"none"},
		replaceImage(func(p *Profile) { p.Labels = []string{"indoor"} }), replaceImage(func(*Profile) {}), UpdateProfile{},
		UpdateProfileInfo{PatchOf[Profile]("name", "image", "model", "m-2"), later}, UpdateProfileInfo{},
		AddDeviceResource{"image", pan(), later}, AddDeviceResource{"none", pan(), later}, AddDeviceCommand{"image", turn(), later},
		UpdateDeviceResource{"image", ResourcePatch{Name: new("pan"), IsHidden: new(true)}, later}, UpdateDeviceResource{},
		UpdateDeviceCommand{"image", CommandPatch{Name: new("turn"), IsHidden: new(true)}, later}, UpdateDeviceCommand{},
		RemoveDeviceResource{"image", "pan", later}, RemoveDeviceCommand{"image", "turn", later},
		AddService{restService()}, AddService{with(restService(), func(d *DeviceService) { d.Name, d.ID = "device-onvif", otherID })},
		patchService("labels", []string{"rest"}), patchService(),
		RemoveService{DeviceREST}, RemoveService{"device-onvif"}, RemoveService{"none"},
		AddWatcher{finder()}, addFinder(func(d *ProvisionWatcher) { d.Name, d.ID, d.ProfileName = "finder-2", otherID, "video" }), AddWatcher{},
		patchFinder("profileName", "video"), patchFinder("profileName", "image"),
		patchFinder(), RemoveWatcher{"finder"}, RemoveWatcher{"finder-2"}, RemoveWatcher{"none"},
		AddDevice{camera()}, AddDevice{second}, AddDevice{with(second, func(d *Device) { d.ProfileName = "video" })}, AddDevice{},
		patchCamera("labels", []string{"outdoor"}), patchCamera(),
		patchCamera("profileName", "video"), patchCamera("profileName", "image"),
		RecordCommand{zoomCommand()}, RecordCommand{with(zoomCommand(), func(e *CommandIssued) { e.Device, e.Value = "none", nil })},
		RecordAnswer{zoomAnswer(7)},
		RemoveDevice{"cam-1"}, RemoveDevice{"cam-2"}, RemoveDevice{"none"},
		AddUser{anna()}, AddUser{with(anna(), func(u *User) { u.Name = "ben" })}, AddUser{}, ChangeUser{"anna", Viewer, later}, ChangeUser{"ben", Viewer, later},
		ChangeUser{"none", Viewer, later}, ChangeUser{"anna", Admin, later}, SetPassword{"anna", "c-3", true, later}, SetPassword{"none", "c-3", false, later},
		RemoveUser{"anna"}, RemoveUser{"ben"}, RemoveUser{"none"}, AddToken{till()}, AddToken{with(till(), func(t *Token) { t.Name = "pos-8" })}, AddToken{},
		RotateToken{"pos-7", "c-9", later, created}, RemoveToken{"pos-7"}, RemoveToken{"none"},
		AddSubscription{gate()}, addGate(func(d *Subscription) { d.Name, d.ID = "door", otherID }), AddSubscription{},
		patchGate("labels", []string{"fire"}), patchGate("labels", []string{}),
		RemoveSubscription{"gate"}, RemoveSubscription{"none"},
		AddNotification{Notification: notice()}, addNotice(func(n *Notification) { n.ID = otherID }), AddNotification{},
		RaiseNotifications{Raised: []Raised{{Notification: with(notice(), func(n *Notification) { n.ID, n.Cause = otherID, 7 })}}}, RaiseNotifications{},
		ProcessNotification{ID: noticeID, Transmissions: []Transmission{transmission()}, At: later}, ProcessNotification{ID: otherID, Transmissions: nil, At: later},
		RecordTry{ID: otherID, Record: TransmissionRecord{Status: StatusFailed}, Status: StatusResending, Next: later, At: later}, RecordTry{},
		AcknowledgeNotifications{IDs: []string{noticeID}, Acknowledged: true, At: later}, AcknowledgeNotifications{IDs: []string{noticeID, raisedID}, At: later},
		AcknowledgeNotifications{IDs: []string{otherID}}, ResendTransmissions{Resends: []Resend{{ID: otherID}}, At: later},
		ResendTransmissions{},
		RemoveNotifications{[]Removal{{ID: noticeID}, {ID: raisedID, Transmissions: []string{otherID}}}}, RemoveNotifications{[]Removal{{ID: noticeID, Revision: 7}}}, RemoveNotifications{},
		RequestCleanup{Cleanup{Kind: CleanupAll, Until: created}}, RequestCleanup{Cleanup{Kind: CleanupTransmissions, Until: later}}, FinishCleanup{Kind: CleanupAll}, FinishCleanup{Kind: CleanupTransmissions},
		CleanUp{Kind: CleanupAll, Notifications: []Removal{{ID: noticeID}, {ID: raisedID, Revision: 3}}}, CleanUp{Kind: CleanupTransmissions, Transmissions: []Removal{{ID: otherID}}},
		CleanUp{Kind: CleanupEvents, DataEvents: []Removal{{ID: noticeID}, {ID: otherID, Revision: 3}}},
		IfMatch{Change: patchCamera("labels", []string{"yard"}), Any: true}, IfMatch{Change: RemoveDevice{"cam-2"}, Revisions: []uint64{9}},
		SetRetention{map[string]string{"readings-max-age": "30d"}}, SetRetention{map[string]string{"readings-max-age": ""}}, SetRetention{},
		RecordCallbacks{UpTo: 7, Behind: map[string]uint64{"device-onvif": 5}}, RecordCallbacks{UpTo: 9, Behind: map[string]uint64{"device-onvif": 0}}, RecordCallbacks{},
		RecordReplay{Replay{Subscription: "gate", Count: 1}}, RecordReplay{},
		SeedSamples{}, PostReading{picture()}, AddDataEvent{climate()}, AddDataEvent{with(climate(), func(e *DataEventAdded) { e.Event.ID = otherID })},
		RemoveDataEvent{otherID}, RemoveDataEvent{noticeID}, RemoveDataEvent{"none"}, Refuse{Errorf(Conflict, "taken")}, Recall{Errorf(NotFound, "gone")},
	}
}

func everything() []Event {
	return append(onboarded(), WatcherAdded{Watcher: finder()}, SubscriptionAdded{Subscription: gate()}, NotificationAdded{notice()}, raisedNotice(), picture(), climate(), UserAdded{User: anna()}, TokenAdded{Token: till()},
		UserAdded{User: with(anna(), func(u *User) { u.Name, u.Role = "ben", Viewer })})
}

func TestDecideChangesNothing(t *testing.T) {
	state, want := given(everything()...), given(everything()...)
	fresh := commands()
	for i, cmd := range commands() {
		event, err := cmd.Decide(state)
		if !reflect.DeepEqual(state, want) {
			t.Fatalf("%#v changed the state", cmd)
		}
		if !reflect.DeepEqual(cmd, fresh[i]) {
			t.Errorf("Decide changed its command\nfrom %#v\nto   %#v", fresh[i], cmd)
		}
		if event != nil && err != nil {
			t.Errorf("%#v: got event %#v and error %v, want one of them", cmd, event, err)
		}
		again, errAgain := cmd.Decide(state)
		if !reflect.DeepEqual(event, again) || !reflect.DeepEqual(err, errAgain) {
			t.Errorf("%#v: got %#v, %v, then %#v, %v", cmd, event, err, again, errAgain)
		}
	}
}

func TestEvolveLeavesItsEvent(t *testing.T) {
	state, fresh := given(), everything()
	for i, e := range everything() {
		e.Evolve(state)
		if !reflect.DeepEqual(e, fresh[i]) {
			t.Errorf("Evolve changed its event\nfrom %#v\nto   %#v", fresh[i], e)
		}
	}
}

// walk decides n random commands one after another and returns the events that they made.
func walk(seed uint64, n int) []Event {
	random, state, cmds := rand.New(rand.NewPCG(seed, 0)), given(), commands()
	var events []Event
	for range n {
		if e, err := cmds[random.IntN(len(cmds))].Decide(state); err == nil && e != nil {
			e.Evolve(state)
			events = append(events, e)
		}
	}
	return events
}

// The derived tables say what a scan of the entities would.
func TestDerivedTables(t *testing.T) {
	for seed := range uint64(50) {
		s := given(walk(seed, 300)...)
		uses, ids := MapTable[int]{}, MapTable[string]{}
		for name, d := range s.Devices.(MapTable[Device]) {
			uses["profile/"+d.ProfileName]++
			uses["service/"+d.ServiceName]++
			ids["device/"+d.ID] = name
			if command, ok := s.IDs.Get("command/" + name); ok { // which no entity has
				ids["command/"+name] = command
			}
		}
		for name, d := range s.Watchers.(MapTable[ProvisionWatcher]) {
			uses["profile/"+d.ProfileName]++
			uses["service/"+d.ServiceName]++
			ids["watcher/"+d.ID] = name
		}
		for _, u := range s.Users.(MapTable[User]) {
			uses["users"]++
			if u.Role == Admin {
				uses["admins"]++
			}
		}
		if n := len(s.Tokens.(MapTable[Token])); n > 0 {
			uses["tokens"] = n
		}
		for name, d := range s.Profiles.(MapTable[Profile]) {
			ids["profile/"+d.ID] = name
		}
		for name, d := range s.Services.(MapTable[DeviceService]) {
			ids["service/"+d.ID] = name
		}
		for name, d := range s.Subscriptions.(MapTable[Subscription]) {
			ids["subscription/"+d.ID] = name
		}
		for name, value := range RetentionOf(s) {
			ids[retentionPrefix+name] = value
		}
		if got := s.Uses.(MapTable[int]); !maps.Equal(got, uses) {
			t.Errorf("walk %d: got uses %v, want %v", seed, got, uses)
		}
		if got := s.IDs.(MapTable[string]); !maps.Equal(got, ids) {
			t.Errorf("walk %d: got ids %v, want %v", seed, got, ids)
		}
	}
}

// TestLivesAreLinked holds that each addition of a name after its removal names the removal, and each removal names the event before
// it. The state has the first and the last removal.
func TestLivesAreLinked(t *testing.T) {
	seq := new(uint64)
	s := OverlayAt(NewMapState(), seq)
	record := func(c Command) Event {
		t.Helper()
		e, err := c.Decide(s)
		if err != nil {
			t.Fatal(err)
		}
		*seq++
		Evolve(s, &Recorded{Seq: *seq, Event: e})
		return e
	}
	profile, again := goldenProfile, goldenProfile
	again.ID = "c2f1b7de-0d0e-4e83-b1de-7d2b3c1f9aff"
	for life, p := range []Profile{profile, again, profile} {
		added, ok := record(AddProfile{p}).(ProfileAdded)
		if want := uint64(2 * life); !ok || added.Prev != want {
			t.Errorf("life %d was added after event %d, want %d", life, added.Prev, want)
		}
		removed, ok := record(RemoveProfile{p.Name}).(ProfileRemoved)
		if want := uint64(2*life + 1); !ok || removed.Prev != want {
			t.Errorf("life %d was removed after event %d, want %d", life, removed.Prev, want)
		}
	}
	if got, all := RemovalsOf(s, "profile", profile.Name); got != (Gone{2, 6}) || !all {
		t.Errorf("got the removals %v, and all is %t", got, all)
	}
	if got, _ := RemovalsOf(s, "device", profile.Name); got != (Gone{}) {
		t.Errorf("a device has the removals %v of a profile", got)
	}
}
