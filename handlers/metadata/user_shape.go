package metadata

import (
	"ledge/domain"
	"ledge/handlers"
)

// addUser is an element of POST /user.
type addUser struct {
	handlers.Head
	User newUserShape `json:"user"`
}

type newUserShape struct {
	Name     string      `json:"name"`
	Role     domain.Role `json:"role"`
	Password string      `json:"password"`
}

// updateUser is an element of PATCH /user: a field that is missing or null stays as it is.
type updateUser struct {
	handlers.Head
	User userPatchShape `json:"user"`
}

type userPatchShape struct {
	Name     *string      `json:"name"`
	Role     *domain.Role `json:"role"`
	Password *string      `json:"password"`
}

// changePassword is the body of PUT /user/me/password.
type changePassword struct {
	handlers.Head
	Old string `json:"oldPassword"`
	New string `json:"newPassword"`
}

// addToken is an element of POST /token.
type addToken struct {
	handlers.Head
	Token newTokenShape `json:"token"`
}

type newTokenShape struct {
	Name        string      `json:"name"`
	Role        domain.Role `json:"role"`
	Devices     []string    `json:"devices"`
	Certificate bool        `json:"certificate"`
	Expires     int64       `json:"expires"`
}

// rotateToken is the body of POST /token/name/:name/rotate.
type rotateToken struct {
	handlers.Head
	Overlap *string `json:"overlap"`
}

// userShape shows a user. Nothing of the password is in it.
type userShape struct {
	Created    int64       `json:"created"`
	Modified   int64       `json:"modified"`
	Name       string      `json:"name"`
	Role       domain.Role `json:"role"`
	MustChange bool        `json:"mustChange"`
}

func userShapeOf(u domain.User) userShape {
	return userShape{u.Created, u.Modified, u.Name, u.Role, u.MustChange}
}

// tokenShape shows a token. Nothing of the secret is in it. OldUntil is there while the secret before the last rotation is valid.
type tokenShape struct {
	Created     int64       `json:"created"`
	Name        string      `json:"name"`
	Role        domain.Role `json:"role"`
	Devices     []string    `json:"devices,omitempty"`
	Certificate bool        `json:"certificate,omitempty"`
	Expires     int64       `json:"expires,omitempty"`
	LastUsed    int64       `json:"lastUsed,omitempty"`
	OldUntil    int64       `json:"oldUntil,omitempty"`
}

type userAnswer struct {
	handlers.Envelope
	User userShape `json:"user"`
}

type tokenAnswer struct {
	handlers.Envelope
	Token tokenShape `json:"token"`
}

// secretAnswer has the text of a token, which can be read nowhere else.
type secretAnswer struct {
	handlers.Envelope
	Token string `json:"token"`
}
