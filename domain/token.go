package domain

// Token is how a program proves who it is: by a secret that is shown once, or by a client certificate.
type Token struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Devices are as in [Identity].
	Devices []string `json:"devices,omitempty"`
	// Credential is the id under which the secret store has the hash of the secret; empty for a token that is a client certificate.
	Credential string `json:"credential,omitempty"`
	// Certificate says that Name is the name in a client certificate, which stands for the secret.
	Certificate bool `json:"certificate,omitempty"`
	// Expires and Created are in milliseconds since the Unix epoch; Expires is 0 for a token that does not expire.
	Expires int64 `json:"expires,omitempty"`
	Created int64 `json:"created"`
	// Old is the id of the hash of the secret before the last rotation, which is valid until OldUntil, in milliseconds since the Unix epoch.
	Old      string `json:"old,omitempty"`
	OldUntil int64  `json:"oldUntil,omitempty"`
}
