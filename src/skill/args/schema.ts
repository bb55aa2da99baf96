/** A value that an `enum` can list. */
export type Scalar = string | number | boolean | null;

/** The types of a single value. */
export type ScalarType = 'string' | 'number' | 'integer' | 'boolean';

/** The keywords every property may have; on a value of another type each keeps its JSON Schema meaning. */
export interface Keywords {
  /** At most 200 code points. */
  readonly description?: string;
  /** 1 to 20000 values; compared as JSON. */
  readonly enum?: readonly Scalar[];
  /** Longest string, in Unicode code points. */
  readonly maxLength?: number;
  /** An ECMAScript pattern (flag `u`) of at most 200 code points, found anywhere in the string. */
  readonly pattern?: string;
}

/** A property that holds one string, number or boolean. */
export interface ScalarProperty extends Keywords {
  readonly type: ScalarType;
}

/** A property that holds an array of scalars. */
export interface ArrayProperty extends Keywords {
  readonly type: 'array';
  readonly items: ScalarProperty;
}

/** One property of a tool's input. */
export type ArgsProperty = ScalarProperty | ArrayProperty;

/** A tool's input: the JSON Schema subset of `actor.skill@2`, `tools[].args`. */
export interface ArgsSchema {
  readonly type: 'object';
  /** At most 200 code points. */
  readonly description?: string;
  /** At most 100 properties, of which at most 20 have a pattern. */
  readonly properties?: { readonly [name: string]: ArgsProperty };
  /** At most 20 unique names. */
  readonly required?: readonly string[];
  /** Absent: other keys are allowed. */
  readonly additionalProperties?: false;
}
