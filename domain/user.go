package domain

// User is a person who may log in.
type User struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Credential is the id under which the secret store has the hash of the password. A new password has a new one.
	Credential string `json:"credential"`
	// MustChange says that the password was generated, or given by an administrator, and has to be replaced at the first login to the console.
	MustChange bool `json:"mustChange,omitempty"`
	// Created and Modified are in milliseconds since the Unix epoch.
	Created  int64 `json:"created"`
	Modified int64 `json:"modified"`
}
