package admin

import (
	"encoding/json"
	"time"

	"ledge/domain"
	"ledge/domain/history"
	"ledge/store"
)

// Request is a request of a command to a running server. The commands user and token also apply it to a data folder themselves.
type Request struct {
	Do       string        `json:"do"` // such as "user add"
	Name     string        `json:"name,omitempty"`
	Role     domain.Role   `json:"role,omitempty"`
	Password string        `json:"password,omitempty"`
	Token    *domain.Token `json:"token,omitempty"`
	// Overlap is for "token rotate".
	Overlap time.Duration `json:"overlap,omitempty"`
	// Notification is the id for "why", or empty.
	Notification string `json:"notification,omitempty"`
	// History is for "history".
	History *history.Query `json:"history,omitempty"`
	// After is for "ends": the answer waits until a log goes on behind it.
	After store.Place `json:"after,omitempty"`
}

// isLong reports whether the request is long: its answer may take as long as the client waits.
func (r Request) isLong() bool {
	return r.Do == doAPI || r.Do == "verify" || r.Do == "ends" && r.After != nil
}

// Answer is the answer to a request. Answers with Text, Stream or Progress may come before the last one.
type Answer struct {
	Error    string          `json:"error,omitempty"`
	Code     int             `json:"code,omitempty"`   // exit code for Error; 0 if it has none of its own
	Away     bool            `json:"away,omitempty"`   // Error is that the server is starting or stopping
	Text     string          `json:"text,omitempty"`   // for the client to print
	Stream   json.RawMessage `json:"stream,omitempty"` // the report on a log that is whole, for the client to print
	Progress *Progress       `json:"progress,omitempty"`

	Token   string                `json:"token,omitempty"` // the text of a new token
	Users   []User                `json:"users,omitempty"`
	Tokens  []Token               `json:"tokens,omitempty"`
	Why     json.RawMessage       `json:"why,omitempty"`     // the explanation of a delivery
	History json.RawMessage       `json:"history,omitempty"` // a page of a history
	Ends    map[string]store.Info `json:"ends,omitempty"`
	Health  *Health               `json:"health,omitempty"`

	Checkpoint string `json:"checkpoint,omitempty"` // of the log of changes, signed
}

// Progress says how much of a long request is done, in bytes or events.
type Progress struct {
	Text  string `json:"text"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
}

// Health is the health of all services.
type Health struct {
	Refusing []string `json:"refusing,omitempty"` // the services that do not take what is sent to them, with the reasons
	Warnings []string `json:"warnings,omitempty"`
}

// User is a user in a list, without the id of the password.
type User struct {
	Name       string      `json:"name"`
	Role       domain.Role `json:"role"`
	MustChange bool        `json:"mustChange,omitempty"`
	Created    int64       `json:"created"`
	Modified   int64       `json:"modified"`
}

// Token is a token in a list. Times are in milliseconds since the Unix epoch, 0 for never.
type Token struct {
	Name        string      `json:"name"`
	Role        domain.Role `json:"role"`
	Devices     []string    `json:"devices,omitempty"`
	Certificate bool        `json:"certificate,omitempty"`
	Created     int64       `json:"created"`
	Expires     int64       `json:"expires,omitempty"`
	LastUsed    int64       `json:"lastUsed,omitempty"`
	OldUntil    int64       `json:"oldUntil,omitempty"` // the secret before the last rotation is valid until then
}
