package main

import (
	"context"
	"time"

	"ledge/domain"
	"ledge/store"
)

// adminRequest is what a command asks of a running server, and user and token also of a data folder.
type adminRequest struct {
	Do       string        `json:"do"` // such as "user add"
	Name     string        `json:"name,omitempty"`
	Role     domain.Role   `json:"role,omitempty"`
	Password string        `json:"password,omitempty"`
	Token    *domain.Token `json:"token,omitempty"`
	// Overlap is for "token rotate".
	Overlap time.Duration `json:"overlap,omitempty"`
	// Notification is the id for "why", or empty.
	Notification string `json:"notification,omitempty"`
	// After is for "ends": the answer waits until a log goes on behind it.
	After store.Place `json:"after,omitempty"`
}

// lasts reports whether the answer may take as long as the client waits for it.
func (r adminRequest) lasts() bool { return r.Do == "verify" || r.Do == "ends" && r.After != nil }

// adminAnswer is the answer to it. Answers with Text or Progress may come before it.
type adminAnswer struct {
	Error    string          `json:"error,omitempty"`
	Code     int             `json:"code,omitempty"`   // exit code for Error; 0 if it has none of its own
	Away     bool            `json:"away,omitempty"`   // Error is that the server is starting or stopping
	Text     string          `json:"text,omitempty"`   // for the client to print
	Stream   *verifiedStream `json:"stream,omitempty"` // a log that is whole, for the client to print
	Progress *adminProgress  `json:"progress,omitempty"`

	Token  string                `json:"token,omitempty"` // the text of a new token
	Users  []userEntry           `json:"users,omitempty"`
	Tokens []tokenEntry          `json:"tokens,omitempty"`
	Why    *whyAnswer            `json:"why,omitempty"`
	Ends   map[string]store.Info `json:"ends,omitempty"`
	Health *healthAnswer         `json:"health,omitempty"`
}

// adminProgress says how much of something is done.
type adminProgress struct {
	Text  string `json:"text"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
}

// userEntry is a user in a list, without the id of the password.
type userEntry struct {
	Name       string      `json:"name"`
	Role       domain.Role `json:"role"`
	MustChange bool        `json:"mustChange,omitempty"`
	Created    int64       `json:"created"`
	Modified   int64       `json:"modified"`
}

// tokenEntry is a token in a list. Times are in milliseconds since the Unix epoch, 0 for never.
type tokenEntry struct {
	Name        string      `json:"name"`
	Role        domain.Role `json:"role"`
	Devices     []string    `json:"devices,omitempty"`
	Certificate bool        `json:"certificate,omitempty"`
	Created     int64       `json:"created"`
	Expires     int64       `json:"expires,omitempty"`
	LastUsed    int64       `json:"lastUsed,omitempty"`
	OldUntil    int64       `json:"oldUntil,omitempty"` // the secret before the last rotation is valid until then
}

// do answers a request of an actor.
func (i *identities) do(ctx context.Context, actor string, r adminRequest) (a adminAnswer, err error) {
	switch r.Do {
	case "user add":
		err = i.AddUser(ctx, actor, r.Name, r.Role, r.Password, false)
	case "user role":
		err = i.SetRole(ctx, actor, r.Name, r.Role)
	case "user passwd":
		err = i.SetPassword(ctx, actor, r.Name, r.Password, false)
	case "user remove":
		err = i.RemoveUser(ctx, actor, r.Name)
	case "user list":
		a.Users, err = i.userEntries()
	case "token create":
		if r.Token == nil {
			return a, domain.Errorf(domain.Invalid, "token: is missing; give it")
		}
		a.Token, err = i.AddToken(ctx, actor, *r.Token)
	case "token rotate":
		a.Token, err = i.RotateToken(ctx, actor, r.Name, r.Overlap)
	case "token revoke":
		err = i.RemoveToken(ctx, actor, r.Name)
	case "token list":
		a.Tokens, err = i.tokenEntries()
	default:
		err = domain.Errorf(domain.Unsupported, "do: %q is unknown; use the ledge command of the server's version", r.Do)
	}
	return a, err
}

func (i *identities) userEntries() (list []userEntry, err error) {
	users, err := i.Users()
	for _, u := range users {
		list = append(list, userEntry{u.Name, u.Role, u.MustChange, u.Created, u.Modified})
	}
	return list, err
}

func (i *identities) tokenEntries() (list []tokenEntry, err error) {
	tokens, err := i.Tokens()
	for _, t := range tokens {
		if t.OldUntil <= i.now().UnixMilli() {
			t.OldUntil = 0
		}
		list = append(list, tokenEntry{t.Name, t.Role, t.Devices, t.Certificate, t.Created, t.Expires, i.uses.Last(t.Name), t.OldUntil})
	}
	return list, err
}
