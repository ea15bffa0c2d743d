package identity_test

import (
	"context"
	"fmt"

	"ledge/domain"
	"ledge/handlers/identity"
)

// folded has one token, as the folded state and the secret store have it.
type folded struct{ hash string }

func (f folded) User(string) (domain.User, bool) { return domain.User{}, false }
func (f folded) Token(name string) (domain.Token, bool) {
	return domain.Token{Name: "pos-7", Role: domain.Poster, Credential: "id-1"}, name == "pos-7"
}
func (f folded) Credential(id string) (string, bool) { return f.hash, id == "id-1" }
func (f folded) PutCredential(string, string) error  { return nil }

func Example() {
	token, hash := identity.NewToken("pos-7") // the token is shown once; its hash is stored
	state := folded{hash}
	a := identity.New(identity.Options{Directory: state, Credentials: state, LoginKey: make([]byte, 32)})

	id, err := a.Bearer(context.Background(), token, "192.168.1.20:40112")
	fmt.Println(id.Actor, id.Role, err)
	_, err = a.Bearer(context.Background(), "ledge_pos-7_GUESS", "192.168.1.66:40112")
	fmt.Println(err)
	// Output:
	// token:pos-7 poster <nil>
	// the token is not valid; ask for a new one
}
