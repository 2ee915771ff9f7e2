import { type InspectorNotification, type Runtime, Session } from 'node:inspector';

type Census = Record<string, number>;

/** Source of a function that counts: what collections hold, and instances by their classes. */
const COUNT = `function () {
  const counts = {};
  const add = (what, many) => (counts[what] = (counts[what] ?? 0) + many);
  const count = (each) => {
    const { name } = Object.getPrototypeOf(each)?.constructor ?? {};
    if (name === 'Map' || name === 'Set') add('entries of a ' + name, each.size);
    else if (name !== 'Array') add(String(name), 1);
    // Node's own arrays hold source maps and the like, too.
    else if (typeof each[0] === 'function') add('functions in arrays', each.length);
    else if (IS_HERE) add('items of arrays', each.length);
  };
  for (const each of this) {
    try {
      count(each);
    } catch {
      add('proxies that refuse', 1);
    }
  }
  return counts;
}`;

const MARK = 'nestjs-delay-queue.test.census';
const OF_NODE = new Set(['Timeout', 'AbortSignal', 'functions in arrays', 'TCP', 'Socket']);

/**
 * How many of what can grow are alive after a collection of garbage, in the realm of this file of tests, and of Node's own
 * what a library may leave there.
 */
export function census(): Census {
  const realm = globalThis as Record<string, unknown>;
  const session = new Session();
  session.connect();
  const contexts: number[] = [];
  session.on(
    'Runtime.executionContextCreated',
    ({ params }: InspectorNotification<Runtime.ExecutionContextCreatedEventDataType>) =>
      contexts.push(params.context.id),
  );
  const post = (method: string, parameters: object = {}): unknown => {
    let answer: unknown;
    session.post(method, parameters, (error: Error | null, given: unknown) => {
      if (error) throw error;
      answer = given;
    });
    return answer;
  };
  const evaluate = (contextId: number, expression: string): Runtime.RemoteObject =>
    (post('Runtime.evaluate', { contextId, expression }) as Runtime.EvaluateReturnType).result;
  const countIn = (contextId: number, isHere: boolean): Census => {
    const prototypeObjectId = evaluate(contextId, 'Object.prototype').objectId;
    const query = { prototypeObjectId, objectGroup: MARK };
    const { objects } = post('Runtime.queryObjects', query) as Runtime.QueryObjectsReturnType;
    const { result } = post('Runtime.callFunctionOn', {
      objectId: objects.objectId,
      functionDeclaration: COUNT.replace('IS_HERE', String(isHere)),
      returnByValue: true,
    }) as Runtime.CallFunctionOnReturnType;
    post('Runtime.releaseObjectGroup', { objectGroup: MARK });
    if (result.value === undefined) throw new Error('nothing could be counted');
    return result.value as Census;
  };
  realm[MARK] = true;
  try {
    post('Runtime.enable');
    const isHere = (id: number): boolean => evaluate(id, `'${MARK}' in globalThis`).value === true;
    const here = contexts.find(isHere);
    // The first context is Node's own.
    const [node] = contexts.toSorted((a, b) => a - b);
    if (here === undefined || node === undefined) throw new Error('no realm has the mark');
    const ofNode = Object.entries(countIn(node, false)).filter(([what]) => OF_NODE.has(what));
    return {
      ...countIn(here, true),
      ...Object.fromEntries(ofNode.map(([what, many]) => [`${what} of Node`, many])),
    };
  } finally {
    Reflect.deleteProperty(realm, MARK);
    session.disconnect();
  }
}

/** What of them has grown by more than that. */
export function grown(before: Census, after: Census, byMoreThan: number): Census {
  const more = Object.entries(after).map(([what, many]): [string, number] => [
    what,
    many - (before[what] ?? 0),
  ]);
  return Object.fromEntries(more.filter(([, many]) => many > byMoreThan));
}
