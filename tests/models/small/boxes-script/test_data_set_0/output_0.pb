B37JP¨UA{˜Aw
ªAÚr¢A#>6A°hA’á‘A8²‚Aïî•AYÊQAkéAžÓ²AÎ„AÌ|c?™oÔAÚÝA{ÔÈ@ùv}@M;AâïhA