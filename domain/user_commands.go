package domain

// MaxUsers is how many users there may be.
const MaxUsers = 10_000

// checkRole notes a role that is not in the table of rights.
func (p *Problems) checkRole(path string, r Role) {
	var names []string
	for _, known := range Roles() {
		names = append(names, string(known))
	}
	p.checkOneOf(path, string(r), names...)
}

// Check notes what is wrong with a user.
func (u User) Check() Problems {
	var p Problems
	p.checkName("name", u.Name)
	p.checkRole("role", u.Role)
	p.checkName("credential", u.Credential)
	return p
}

// AddUser adds a user. User carries its times, and the id of a hash that is in the secret store already.
type AddUser struct{ User User }

// Decide refuses a user that is wrong in itself, a name that is taken, and more than [MaxUsers].
func (c AddUser) Decide(s State) (Event, error) {
	if err := c.User.Check().Err(); err != nil {
		return nil, err
	}
	if _, ok := s.Users.Get(c.User.Name); ok {
		return nil, Errorf(Conflict, "user name %q exists already; choose another name", c.User.Name)
	}
	if n, _ := s.Uses.Get(countOfUsers); n >= MaxUsers {
		return nil, Errorf(TooLarge, "there are %d users, which is the limit; remove one first", n)
	}
	return UserAdded{c.User, lastRemoval(s, "user", c.User.Name)}, nil
}

// ChangeUser gives a user another role. At is the new modified time, in milliseconds since the Unix epoch.
type ChangeUser struct {
	Name string
	Role Role
	At   int64
}

// Decide refuses an unknown user or role, and a last admin that would lose the role. The same role makes no event.
func (c ChangeUser) Decide(s State) (Event, error) {
	var p Problems
	p.checkRole("role", c.Role)
	if err := p.Err(); err != nil {
		return nil, err
	}
	u, err := userOf(s, c.Name)
	if err != nil || u.Role == c.Role {
		return nil, err
	}
	if err := checkNotLast(s, u); err != nil {
		return nil, err
	}
	return UserUpdated{Name: c.Name, Was: u.Role, Role: c.Role, Modified: c.At, Prev: Revision(s.Users, c.Name)}, nil
}

// SetPassword gives a user another password, whose hash is in the secret store already.
// At is the new modified time, in milliseconds since the Unix epoch.
type SetPassword struct {
	Name       string
	Credential string
	MustChange bool
	At         int64
}

// Decide refuses an unknown user.
func (c SetPassword) Decide(s State) (Event, error) {
	if err := CheckName("credential", c.Credential).Err(); err != nil {
		return nil, err
	}
	if _, err := userOf(s, c.Name); err != nil {
		return nil, err
	}
	e := UserPassword{Name: c.Name, Credential: c.Credential, MustChange: c.MustChange, Modified: c.At}
	e.Prev = Revision(s.Users, c.Name)
	return e, nil
}

// RemoveUser removes the user called Name.
type RemoveUser struct{ Name string }

// Decide refuses an unknown user and the last admin.
func (c RemoveUser) Decide(s State) (Event, error) {
	u, err := userOf(s, c.Name)
	if err != nil {
		return nil, err
	}
	if err := checkNotLast(s, u); err != nil {
		return nil, err
	}
	return UserRemoved{u, Revision(s.Users, c.Name)}, nil
}

func userOf(s State, name string) (User, error) {
	u, ok := s.Users.Get(name)
	if !ok {
		return u, Errorf(NotFound, "user %q does not exist; add it first or correct the name", name)
	}
	return u, nil
}

// checkNotLast refuses to take the role away from the last admin.
func checkNotLast(s State, u User) error {
	if n, _ := s.Uses.Get(countOfAdmins); u.Role == Admin && n <= 1 {
		return Errorf(Conflict, "user %q is the last one with the role admin; give that role to another user first", u.Name)
	}
	return nil
}
