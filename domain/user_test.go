package domain

import (
	"strings"
	"testing"
)

func TestUsers(t *testing.T) {
	ben := with(anna(), func(u *User) { u.Name, u.Role = "ben", Viewer })
	full := func() []Event {
		return []Event{usesOf("users", MaxUsers)}
	}
	runDecisions(t, []decision{
		{name: "add", when: AddUser{anna()}, want: UserAdded{User: anna()}},
		{
			name: "name taken", given: []Event{UserAdded{User: anna()}},
			when: AddUser{anna()}, code: Conflict, says: `user name "anna" exists already; choose another name`,
		},
		{name: "no name", when: AddUser{User{Role: Viewer, Credential: "c"}}, code: Invalid, says: "name: is missing or empty; give a name"},
		{name: "bad name", when: AddUser{User{Name: "a.b", Role: Viewer, Credential: "c"}}, code: Invalid, says: `name: "a.b" has the character '.'`},
		{name: "unknown role", when: AddUser{User{Name: "a", Role: "root", Credential: "c"}}, code: Invalid, says: `role: "root" is unknown; use one of viewer, poster, service, operator, auditor, admin`},
		{name: "no credential", when: AddUser{User{Name: "a", Role: Viewer}}, code: Invalid, says: "credential: is missing"},
		{name: "too many", given: full(), when: AddUser{anna()}, code: TooLarge, says: "there are 10000 users, which is the limit; remove one first"},
		{
			name: "change", given: []Event{UserAdded{User: anna()}, UserAdded{User: ben}},
			when: ChangeUser{"ben", Auditor, later}, want: UserUpdated{"ben", Viewer, Auditor, later, 0},
		},
		{name: "same role", given: []Event{UserAdded{User: anna()}}, when: ChangeUser{"anna", Admin, later}},
		{
			name: "to an unknown role", given: []Event{UserAdded{User: ben}},
			when: ChangeUser{"ben", "root", later}, code: Invalid, says: `role: "root" is unknown`,
		},
		{name: "change nobody", when: ChangeUser{"ben", Auditor, later}, code: NotFound, says: `user "ben" does not exist; add it first or correct the name`},
		{
			name: "demote the last admin", given: []Event{UserAdded{User: anna()}, UserAdded{User: ben}},
			when: ChangeUser{"anna", Operator, later},
			code: Conflict, says: `user "anna" is the last one with the role admin; give that role to another user first`},
		{
			name: "demote one of two", given: []Event{UserAdded{User: anna()}, UserAdded{User: ben}, UserUpdated{"ben", Viewer, Admin, later, 0}},
			when: ChangeUser{"anna", Operator, later},
			want: UserUpdated{"anna", Admin, Operator, later, 0}},
		{name: "remove the last admin", given: []Event{UserAdded{User: anna()}, UserAdded{User: ben}, UserUpdated{"ben", Viewer, Admin, later, 0}, UserRemoved{User: with(ben, func(u *User) { u.Role = Admin })}},
			when: RemoveUser{"anna"}, code: Conflict, says: "is the last one with the role admin"},
		{
			name: "remove", given: []Event{UserAdded{User: anna()}, UserAdded{User: ben}},
			when: RemoveUser{"ben"}, want: UserRemoved{User: ben},
		},
		{name: "remove nobody", when: RemoveUser{"ben"}, code: NotFound, says: `user "ben" does not exist`},
		{
			name: "password", given: []Event{UserAdded{User: anna()}},
			when: SetPassword{"anna", "c-9", true, later}, want: UserPassword{"anna", "c-9", true, later, 0},
		},
		{name: "password of nobody", when: SetPassword{"anna", "c-9", true, later}, code: NotFound, says: `user "anna" does not exist`},
		{
			name: "password without a credential", given: []Event{UserAdded{User: anna()}},
			when: SetPassword{Name: "anna"}, code: Invalid, says: "credential: is missing",
		},
	})
}

func TestPasswordIsFolded(t *testing.T) {
	s := given(UserAdded{User: anna()}, UserPassword{"anna", "c-9", true, later, 0}, UserUpdated{"anna", Admin, Viewer, later + 1, 0})
	want := with(anna(), func(u *User) { u.Role, u.Credential, u.MustChange, u.Modified = Viewer, "c-9", true, later+1 })
	if got, _ := s.Users.Get("anna"); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTokens(t *testing.T) {
	change := func(f func(*Token)) AddToken { return AddToken{with(till(), f)} }
	viewer := func(t *Token) { t.Role, t.Devices = Viewer, nil }
	runDecisions(t, []decision{
		{name: "add", when: AddToken{till()}, want: TokenAdded{Token: till()}},
		{name: "no patterns", when: change(viewer), want: TokenAdded{Token: with(till(), viewer)}},
		{name: "certificate", when: change(func(t *Token) { t.Certificate, t.Credential = true, "" }),
			want: TokenAdded{Token: with(till(), func(t *Token) { t.Certificate, t.Credential = true, "" })}},
		{name: "certificate with a secret", when: change(func(t *Token) { t.Certificate = true }), code: Invalid, says: "the token is a client certificate; leave it out"},
		{name: "no secret", when: change(func(t *Token) { t.Credential = "" }), code: Invalid, says: "credential: is missing"},
		{
			name: "name taken", given: []Event{TokenAdded{Token: till()}},
			when: AddToken{till()}, code: Conflict, says: `token name "pos-7" exists already; revoke that token first`,
		},
		{name: "bad name", when: change(func(t *Token) { t.Name = "a b" }), code: Invalid, says: `name: "a b" has the character ' '`},
		{name: "unknown role", when: change(func(t *Token) { t.Role = "root"; t.Devices = nil }), code: Invalid, says: `role: "root" is unknown`},
		{name: "patterns of an operator", when: change(func(t *Token) { t.Role = Operator }), code: Invalid, says: `devices: has patterns, but only the role poster is restricted to devices`},
		{name: "empty pattern", when: change(func(t *Token) { t.Devices = []string{"a", ""} }), code: Invalid, says: "devices[1]: is empty"},
		{name: "bad pattern", when: change(func(t *Token) { t.Devices = []string{"cam.>"} }), code: Invalid, says: `devices[0]: "cam.>" has the character '.'`},
		{name: "long pattern", when: change(func(t *Token) { t.Devices = []string{strings.Repeat("x", MaxName+1)} }), code: Invalid, says: "is 257 bytes long"},
		{name: "many patterns", when: change(func(t *Token) { t.Devices = make([]string, MaxPatterns+1) }), code: Invalid, says: "devices: has 101 patterns; give at most 100"},
		{name: "expired", when: change(func(t *Token) { t.Expires = created }), code: Invalid, says: "is not after the time of creation"},
		{name: "too many", given: []Event{usesOf("tokens", MaxTokens)}, when: AddToken{till()}, code: TooLarge, says: "there are 100000 tokens, which is the limit"},
		{
			name: "rotate", given: []Event{TokenAdded{Token: till()}},
			when: RotateToken{"pos-7", "c-9", later, created}, want: TokenRotated{"pos-7", "c-9", later, 0},
		},
		{
			name: "rotate at once", given: []Event{TokenAdded{Token: till()}},
			when: RotateToken{"pos-7", "c-9", 0, later - 1}, want: TokenRotated{"pos-7", "c-9", 0, 0},
		},
		{
			name: "rotate into the past", given: []Event{TokenAdded{Token: till()}},
			when: RotateToken{"pos-7", "c-9", created, later - 1}, code: Invalid, says: "oldUntil: ",
		},
		{name: "rotate nothing", when: RotateToken{"pos-7", "c-9", 0, later}, code: NotFound, says: `token "pos-7" does not exist`},
		{
			name: "rotate without a credential", given: []Event{TokenAdded{Token: till()}},
			when: RotateToken{Name: "pos-7"}, code: Invalid, says: "credential: is missing",
		},
		{name: "rotate a certificate", given: []Event{TokenAdded{Token: with(till(), func(t *Token) { t.Certificate, t.Credential = true, "" })}},
			when: RotateToken{"pos-7", "c-9", 0, later}, code: Conflict, says: "is a client certificate, which has no secret"},
		{name: "rotate an expired one", given: []Event{TokenAdded{Token: till()}},
			when: RotateToken{"pos-7", "c-9", 0, later}, code: Conflict, says: `token "pos-7" has expired, and a new secret would not be valid either; revoke it and create`},
		{name: "revoke", given: []Event{TokenAdded{Token: till()}}, when: RemoveToken{"pos-7"}, want: TokenRemoved{Token: till()}},
		{name: "revoke nothing", when: RemoveToken{"pos-7"}, code: NotFound, says: `token "pos-7" does not exist; correct the name`},
		{
			name: "name free again", given: []Event{TokenAdded{Token: till()}, TokenRemoved{Token: till()}},
			when: AddToken{till()}, want: TokenAdded{Token: till()},
		},
	})
}

// manyUses stands for as many entities as a count says.
// TestRotationIsFolded holds which secret of a token is valid when.
func TestRotationIsFolded(t *testing.T) {
	const end = int64(2_000_000_000_000)
	token := with(till(), func(t *Token) { t.Credential, t.Expires = "c-1", 0 })
	first := token.Identity()
	for _, test := range []struct {
		name   string
		events []Event
		at     int64
		valid  bool
	}{
		{"never rotated", nil, end, true},
		{"in the overlap", []Event{TokenRotated{"pos-7", "c-2", end, 0}}, end - 1, true},
		{"after the overlap", []Event{TokenRotated{"pos-7", "c-2", end, 0}}, end, false},
		{"without an overlap", []Event{TokenRotated{"pos-7", "c-2", 0, 0}}, 1, false},
		{"rotated twice", []Event{TokenRotated{"pos-7", "c-2", end, 0}, TokenRotated{"pos-7", "c-3", end, 0}}, 1, false},
		{"then at once", []Event{TokenRotated{"pos-7", "c-2", end, 0}, TokenRotated{"pos-7", "c-3", 0, 0}}, 1, false},
	} {
		s := given(append([]Event{TokenAdded{Token: token}}, test.events...)...)
		if err := first.Still(s, test.at); (err == nil) != test.valid {
			t.Errorf("%s: the first secret: %v", test.name, err)
		}
		now, _ := s.Tokens.Get("pos-7")
		if err := now.Identity().Still(s, test.at); err != nil {
			t.Errorf("%s: the secret of now: %v", test.name, err)
		}
	}
}

type manyUses struct {
	key string
	n   int
}

func usesOf(key string, n int) Event { return manyUses{key, n} }

func (e manyUses) Evolve(s State)   { s.Uses.Put(e.key, e.n) }
func (e manyUses) Subject() Subject { return nil }
