package channels

import (
	"fmt"

	"ledge/bridge/zeromq"
	"ledge/cmd/internal/exit"
	"ledge/domain"
	"ledge/store/osfile"
)

// CurveKeyName is the name of the private key of CURVE in the secret store.
const CurveKeyName = "curve"

// openCurveKey reads the private key of CURVE, which the first start makes.
func (cs *Channels) openCurveKey() (err error) {
	cs.curveKey, err = cs.Secrets.Key(CurveKeyName)
	if osfile.IsFull(err) || domain.CodeOf(err) == domain.Full {
		cs.Logger.Warn("the disk is full: ZeroMQ channels with clientKeys are not bound until the next start, because the server's key cannot be kept", "error", err)
		return nil
	}
	if err != nil {
		return exit.With(exit.Folder, fmt.Errorf("make the server's key of CURVE: %w", err))
	}
	return nil
}

// PublicKey is the public key of a private one, in Z85; empty if there is none.
func PublicKey(private []byte) string {
	if len(private) == 0 {
		return ""
	}
	return zeromq.PublicKey(private)
}
