package domain

// Keys of the table Uses that count users and tokens. They have no slash, so that they are not an entity's.
const (
	countOfUsers  = "users"
	countOfAdmins = "admins"
	countOfTokens = "tokens"
)

// UserAdded records a new user.
type UserAdded struct {
	User User `json:"user"`
	// Prev is the sequence of the last removal of the name; 0 for none, and in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve adds the user.
func (e UserAdded) Evolve(s State) {
	s.Users.Put(e.User.Name, e.User)
	addUses(s, countOfUsers, +1)
	countAdmin(s, e.User.Role, +1)
}

// Subject implements Event.
func (e UserAdded) Subject() Subject { return Subject{"user", e.User.Name, "added"} }

// UserUpdated records that a user has another role.
type UserUpdated struct {
	Name string `json:"name"`
	Was  Role   `json:"was"`
	Role Role   `json:"role"`
	// Modified is in milliseconds since the Unix epoch.
	Modified int64 `json:"modified"`
	// Prev is the sequence of the event before it of the entity; 0 in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve changes the role.
func (e UserUpdated) Evolve(s State) {
	u, ok := s.Users.Get(e.Name)
	if !ok {
		return
	}
	countAdmin(s, u.Role, -1)
	countAdmin(s, e.Role, +1)
	u.Role, u.Modified = e.Role, e.Modified
	s.Users.Put(e.Name, u)
}

// Subject implements Event.
func (e UserUpdated) Subject() Subject { return Subject{"user", e.Name, "updated"} }

// UserPassword records that a user has another password. The event has only the id of its hash in the secret store.
type UserPassword struct {
	Name       string `json:"name"`
	Credential string `json:"credential"`
	MustChange bool   `json:"mustChange,omitempty"`
	// Modified is in milliseconds since the Unix epoch.
	Modified int64 `json:"modified"`
	// Prev is the sequence of the event before it of the entity; 0 in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve names the new hash.
func (e UserPassword) Evolve(s State) {
	u, ok := s.Users.Get(e.Name)
	if !ok {
		return
	}
	u.Credential, u.MustChange, u.Modified = e.Credential, e.MustChange, e.Modified
	s.Users.Put(e.Name, u)
}

// Subject implements Event.
func (e UserPassword) Subject() Subject { return Subject{"user", e.Name, "password"} }

// UserRemoved records that a user is gone; User is what it last was.
type UserRemoved struct {
	User User `json:"user"`
	// Prev is the sequence of the event before it of the entity; 0 in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve removes the user.
func (e UserRemoved) Evolve(s State) {
	s.Users.Delete(e.User.Name)
	addUses(s, countOfUsers, -1)
	countAdmin(s, e.User.Role, -1)
}

// Subject implements Event.
func (e UserRemoved) Subject() Subject { return Subject{"user", e.User.Name, "removed"} }

func countAdmin(s State, r Role, by int) {
	if r == Admin {
		addUses(s, countOfAdmins, by)
	}
}
